import type { InvocationRef } from '@agentmesh/agent/internal';
import type { Keys } from '@agentmesh/protocol';
import { z } from 'zod';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { admitRunScript, countTokensScript } from './limit-scripts.ts';

const scopes = ['caller', 'user', 'app'] as const;
const windows = { minute: 60_000, day: 86_400_000 } as const;

/** The greatest number of runs or of tokens in a sliding window. */
export interface RunQuota {
  /** Where a run counts: at its caller, at the user of its session, or at its app. */
  scope: (typeof scopes)[number];
  of: 'runs' | 'tokens';
  window: keyof typeof windows;
  most: number;
}

/** A run that may use tokens which are not counted yet. */
export interface OpenRun extends InvocationRef {
  /** The name of the caller. */
  caller: string;
  /** Time after which the run uses no more tokens, in epoch ms. */
  until: number;
}

/** The runs and the tokens of callers, users and apps, counted over all gateways. */
export interface RunQuotas {
  /**
   * Admits a run, and counts it where a quota of runs is given. A run that is refused counts nowhere. With a quota of
   * tokens the run is open from now on.
   *
   * @param tokens the tokens that its invocation has used before
   * @returns undefined, or the quota that refuses the run, and the time in ms until a run is possible
   */
  admit(
    run: OpenRun,
    tokens: number,
    quotas: readonly RunQuota[],
  ): Promise<{ quota: RunQuota; waitMs: number } | undefined>;
  /**
   * Counts the tokens of an open run that are not counted yet, at its caller, its user and its app. Each token counts
   * once, however often and wherever this is called.
   *
   * @param tokens the tokens that the invocation has used so far
   * @param isOver true for a run that uses no more tokens: it is open no longer
   */
  countTokens(run: OpenRun, tokens: number, isOver: boolean): Promise<void>;
  /** Returns the open runs. */
  openRuns(): Promise<OpenRun[]>;
  /** Takes the turn to count for all open runs. Returns false for `ms` after another process has taken it. */
  takeTurn(ms: number): Promise<boolean>;
}

const entrySchema = z.object({
  appName: z.string(),
  userId: z.string(),
  sessionId: z.string(),
  invocationId: z.string(),
  resume: z.string().optional(),
  caller: z.string(),
  until: z.number(),
});

export function runQuotas(connection: RedisConnection, keys: Keys): RunQuotas {
  const { open, turn, counter } = keys.runQuotas;
  const keysOf = ({ caller, userId, appName }: OpenRun) => ({
    open,
    caller: counter('caller', caller),
    user: counter('user', userId),
    app: counter('app', appName),
  });
  // Redis compares the entry as a text, so its fields have one order.
  const entryOf = (run: OpenRun) => JSON.stringify(entrySchema.parse(run));
  const nameOf = ({ appName, userId, invocationId }: OpenRun) =>
    JSON.stringify([appName, userId, invocationId]);
  return {
    async admit(run, tokens, quotas) {
      const isOpen = quotas.some(({ of }) => of === 'tokens');
      const [waitMs, number] = await connection.script<[number, number]>(
        ...admitRunScript.call({
          ...keysOf(run),
          ...{ invocation: nameOf(run), entry: isOpen ? entryOf(run) : '', tokens },
          quotas: quotas.flatMap(({ scope, of, window, most }) => [
            scopes.indexOf(scope) + 1,
            ...[fieldOf(of, window), windows[window], most],
          ]),
        }),
      );
      const quota = quotas[number - 1];
      return quota && { quota, waitMs };
    },

    async countTokens(run, tokens, isOver) {
      await connection.script(
        ...countTokensScript.call({
          ...keysOf(run),
          ...{ invocation: nameOf(run), entry: entryOf(run), tokens, isOver: isOver ? 1 : 0 },
          windows: [
            ...[fieldOf('tokens', 'minute'), windows.minute],
            ...[fieldOf('tokens', 'day'), windows.day],
          ],
        }),
      );
    },

    async openRuns() {
      const entries = await connection.run((redis) => redis.hvals(open));
      return entries.map((each) => entrySchema.parse(JSON.parse(each.slice(each.indexOf(' ') + 1))));
    },

    async takeTurn(ms) {
      return (await connection.run((redis) => redis.set(turn, '1', 'PX', ms, 'NX'))) === 'OK';
    },
  };
}

/** Returns the beginning of the fields that count in a window. */
function fieldOf(of: RunQuota['of'], window: RunQuota['window']): string {
  return `${of}:${window}:`;
}
