import { createHash } from 'node:crypto';
import type { Keys } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { applyAppScript, dropOutboxScript } from './scripts/session-scripts.ts';
import { stateOf } from './state-delta.ts';

/** Committed `app:` deltas of one user that are not applied yet: an id, and keys with their JSON in turn. */
export type Outbox = [id: string, fields: string[]][];

/**
 * Reads and applies `app:` state. This state lies in another slot than the keys of a commit, so a commit
 * leaves its delta in the user's outbox, and a second step applies the delta. For each key the later commit
 * wins, whatever the order of arrival. If a process dies between the steps, the entry stays, and the next
 * commit or read of that user applies it.
 */
export function appState(connection: RedisConnection, keys: Keys) {
  const readApp = async (appName: string): Promise<Record<string, unknown>> => {
    const key = keys.app(appName);
    const fields = await connection.read(key, (redis) => redis.hgetall(key));
    return stateFrom(Object.entries(fields).flat());
  };

  const applyOutbox = async (appName: string, userId: string, outbox: Outbox): Promise<void> => {
    if (outbox.length === 0) return;
    const entries = outbox.flatMap(([id, fields]) => [id, fields.length / 2, ...fields]);
    const writer = writerOf(keys, { appName, userId });
    await connection.script(applyAppScript, [keys.app(appName)], [writer, ...entries]);
    const applied = outbox.map(([id]) => id);
    await connection.script(dropOutboxScript, [keys.appOutbox(appName, userId)], applied);
  };

  /**
   * Runs a script of a user that also reads the app's state, and applies what is left in the outbox. Where another
   * server may have this state, the script reads a key of its own slot in its place, and the state is read beside it.
   */
  const readWithApp = async <T extends unknown[]>(
    { appName, userId }: { appName: string; userId: string },
    run: (appKey: string) => Promise<[app: string[], outbox: Outbox, ...T] | null>,
  ): Promise<[app: Record<string, unknown>, ...T] | undefined> => {
    const appKey = connection.isOneServer ? keys.app(appName) : keys.user(appName, userId);
    const [reply, beside] = await Promise.all([
      run(appKey),
      connection.isOneServer ? undefined : readApp(appName),
    ]);
    if (!reply) return undefined;
    const [fields, outbox, ...others] = reply as [string[], Outbox, ...unknown[]];
    await applyOutbox(appName, userId, outbox);
    return [outbox.length > 0 ? await readApp(appName) : (beside ?? stateFrom(fields)), ...(others as T)];
  };

  return {
    readApp,
    readWithApp,
    applyOutbox,
    /** Applies the deltas of a user that a dead process left. */
    sweep: async (appName: string, userId: string): Promise<void> => {
      const outbox = await connection.run((redis) => redis.xrange(keys.appOutbox(appName, userId), '-', '+'));
      await applyOutbox(appName, userId, outbox);
    },
  };
}

export type AppState = ReturnType<typeof appState>;

/** Returns a name that orders commits of different users at one instant, without naming the user. */
export function writerOf(keys: Keys, { appName, userId }: { appName: string; userId: string }): string {
  return createHash('sha256').update(keys.user(appName, userId)).digest('base64url').slice(0, 16);
}

/** Returns the state of the fields of a hash. */
function stateFrom(fields: readonly string[]): Record<string, unknown> {
  return stateOf(
    'app',
    fields.map((text, at) => (at % 2 === 0 ? text : withoutVersion(text))),
  );
}

/** Returns the JSON of a field, which holds `<outbox id> <writer> <json>`. */
function withoutVersion(value: string): string {
  return value.slice(value.indexOf(' ', value.indexOf(' ') + 1) + 1);
}
