/**
 * The points at which a process can be made to die:
 * - `before-commit`: an event is ready, but not committed
 * - `after-commit`: the event is committed, but not published
 * - `after-publish`: the event (or the end of the run) is published
 * - `before-ack`: all events of a run are committed and published, but its command is not acknowledged
 * - `mid-model-call`: the model has answered, at least in part, and no event is committed
 * - `mid-tool`: a tool has done its work, and its result is not committed
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
  /**
   * Arms a point: the process passes it `passes` times (default 0) and dies there the next time. Replaces the
   * armed point.
   */
  arm(point: KillPoint, passes?: number): void;
  disarm(): void;
  /** Reports that the process has reached a point. The promise never settles when the process dies there. */
  reached(point: KillPoint): Promise<void>;
}

export interface KillerOptions {
  /** Ends this process; default SIGKILL to itself. Tests of the kit replace it. */
  die?: (point: KillPoint) => unknown;
}

/**
 * Makes a killer, which kills this process at an armed point. {@link addKillPoints} adds its points to the
 * parts of a service.
 */
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
      // The code after the point must not run any more.
      await new Promise<never>(() => {});
    },
  };
}

function killSelf(): void {
  process.kill(process.pid, 'SIGKILL');
}
