/**
 * Where a process can be made to die:
 * - `before-commit`: an event is ready, nothing of it is kept yet
 * - `after-commit`: it is in the log, nobody was told
 * - `after-publish`: those who watch were told of it (or of the end)
 * - `before-ack`: all of a run is committed and told, its command is not acknowledged
 * - `mid-model-call`: the model has answered, at least in part, and nothing of it is kept
 * - `mid-tool`: a tool has done its work, and its result is not kept
 */
export const killPoints = [
  'before-commit',
  'after-commit',
  'after-publish',
  'before-ack',
  'mid-model-call',
  'mid-tool',
] as const;

export type KillPoint = (typeof killPoints)[number];

export interface Killer {
  /** The process dies when it comes to this point again, having passed it `passes` times more (default 0). Replaces what was armed before. */
  arm(point: KillPoint, passes?: number): void;
  disarm(): void;
  /** Says that a point is reached. Never settles where the process dies. */
  reached(point: KillPoint): Promise<void>;
}

export interface KillerOptions {
  /** How this process ends; default SIGKILL to itself. A test of the kit may give something milder. */
  die?: (point: KillPoint) => unknown;
}

/** Kills this process at a point that was named before. Its points are put into the parts of a service by {@link addKillPoints}. */
export function createKiller({ die = killSelf }: KillerOptions = {}): Killer {
  let armed: { point: KillPoint; passes: number } | undefined;
  return {
    arm(point, passes = 0) {
      armed = { point, passes };
    },
    disarm() {
      armed = undefined;
    },
    async reached(point) {
      if (armed?.point !== point) return;
      if (armed.passes > 0) {
        armed.passes -= 1;
        return;
      }
      armed = undefined;
      await die(point);
      // What comes after the point does not happen any more.
      await new Promise<never>(() => {});
    },
  };
}

function killSelf(): void {
  process.kill(process.pid, 'SIGKILL');
}
