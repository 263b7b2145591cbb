import { type KeptSession, runOfName, type UserOwner, type UserRecords } from '@agentmesh/agent/internal';
import type { Keys, SessionRef } from '@agentmesh/protocol';
import type { RedisConnection } from '../connection/redis-connection.ts';
import { type AppState, writerOf } from './app-state.ts';
import { forgetBusy, forgetBusyUser } from './busy-lists.ts';
import { forgetCall, readKept } from './delete-session.ts';
import { forgetRuns, forgetWaitingUser } from './redis-overview.ts';
import { callOf } from './script-call.ts';
import {
  deleteKeptScript,
  deleteUserScript,
  forgetQueueScript,
  forgetWriterScript,
} from './scripts/delete-scripts.ts';
import { stateOf } from './state-delta.ts';

interface Place {
  connection: RedisConnection;
  keys: Keys;
  app: AppState;
}

/** Number of members of the index that are read at a time. */
const pageSize = 200;

/** The records that Redis keeps of a user beside the sessions. */
export class RedisUserRecords implements UserRecords {
  readonly #place: Place;

  constructor(place: Place) {
    this.#place = place;
  }

  async sessionIds({ appName, userId }: UserOwner): Promise<string[]> {
    const { connection, keys } = this.#place;
    const lists = [keys.sessions(appName, userId), keys.hiddenSessions(appName, userId)];
    const idLists = await Promise.all(
      lists.map((list) => connection.run((redis) => redis.zrange(list, '0', '-1'))),
    );
    return idLists.flat();
  }

  async readSession(ref: SessionRef): Promise<KeptSession | undefined> {
    const { connection, keys } = this.#place;
    const [[created, updated, seq, hidden, initial], stateFields] = await Promise.all([
      connection.run((redis) =>
        redis.hmget(keys.session(ref), 'created', 'updated', 'seq', 'hidden', 'initial'),
      ),
      connection.run((redis) => redis.hgetall(keys.state(ref))),
    ]);
    if (seq == null) return undefined;
    return {
      sessionId: ref.sessionId,
      hidden: hidden === '1',
      created: Number(created),
      updated: Number(updated),
      seq: Number(seq),
      state: stateOf('session', Object.entries(stateFields).flat()),
      initialState: JSON.parse(initial ?? '{}'),
    };
  }

  async hasSession(ref: SessionRef): Promise<boolean> {
    const { connection, keys } = this.#place;
    return (await connection.run((redis) => redis.hexists(keys.session(ref), 'seq'))) === 1;
  }

  async runsIn(ref: SessionRef) {
    const { connection, keys } = this.#place;
    const [lease, waiting] = await Promise.all([
      connection.run((redis) => redis.hget(keys.session(ref), 'lease')),
      connection.run((redis) => redis.zrange(keys.waiting(ref), '0', '-1')),
    ]);
    const holder = lease === null ? [] : [lease];
    return [...holder, ...waiting].map((name) => ({ ...ref, ...runOfName(name) }));
  }

  async readState({ appName, userId }: UserOwner): Promise<Record<string, unknown>> {
    const { connection, keys } = this.#place;
    const fields = await connection.run((redis) => redis.hgetall(keys.user(appName, userId)));
    return stateOf('user', Object.entries(fields).flat());
  }

  async deleteRest(user: UserOwner) {
    const { connection, keys, app } = this.#place;
    const { appName, userId } = user;
    // The values that the user wrote for all users of the app belong to the app: they must not be lost with
    // the outbox.
    await app.sweep(appName, userId);
    const others = await this.#deleteKept(user);
    const [stateKeys, pending] = await connection.script<[number, number]>(
      ...callOf(keys, deleteUserScript, user, {}),
    );
    await forgetBusyUser(connection, keys, user);
    await forgetWaitingUser(connection, keys, user);
    await forgetRuns(connection, keys, user);
    // The name of the writer today, and the name from before it was hashed.
    const names = [writerOf(keys, user), keys.user(appName, userId)];
    await connection.script(forgetWriterScript, [keys.app(appName)], names);
    return { stateKeys, pending, others };
  }

  async forgetQueue(ref: SessionRef): Promise<void> {
    const { connection, keys } = this.#place;
    await connection.script(...callOf(keys, forgetQueueScript, ref, {}));
    await forgetBusy(connection, keys, ref);
  }

  /** Deletes all that the index names, in pages; keys in other slots first. */
  async #deleteKept(user: UserOwner): Promise<number> {
    const { connection, keys } = this.#place;
    const index = keys.index(user.appName, user.userId);
    let count = 0;
    for (;;) {
      const page = await connection.run((redis) => redis.zrange(index, '0', String(pageSize - 1)));
      if (page.length === 0) return count;
      const members = page.map(readKept);
      for (const { call } of members) if (call) await forgetCall(this.#place, { ...user, ...call }, call);
      const ownKeys = members.flatMap(({ key }) => key ?? []);
      const others = page.filter((_, at) => members[at]?.key === undefined);
      count += await connection.script<number>(deleteKeptScript, [index, ...ownKeys], others);
    }
  }
}
