import { setTimeout as pause } from 'node:timers/promises';
import { createEvent, type Session, type SessionService } from '@agentmesh/agent';
import { keys, MeshError, type SessionRef } from '@agentmesh/protocol';
import { connectRedisStore } from '@agentmesh/store';
import { type RedisCluster, startRedisCluster, until } from '@agentmesh/testing';
import { checkDeltas, type DeltaHistory, type DeltaWrite } from './check/deltas.ts';
import type { Violation } from './check/history.ts';

export interface FailoverOptions {
  /** The number of replicas that must have a commit before it is acknowledged; 0 for no wait. */
  waitReplicas: number;
  /** The number of writers; default 64, spread over 8 sessions of 4 users. */
  writers?: number;
  /** The number of commits of each writer; default 12. */
  commits?: number;
  /**
   * The time for which the link to the replica is cut before the primary is killed, in ms; default 300.
   * Without the cut, a replica on the same machine almost always has all data, so the test would prove
   * nothing.
   */
  cutOffMs?: number;
  /** Called for each event of the node. */
  onEvent?: (what: string) => void;
}

export interface FailoverResult {
  violations: Violation[];
  writes: number;
  /** The longest time without an acknowledged commit, in ms. */
  gapMs: number;
  /** The time from SIGKILL until the replica was promoted, in ms. */
  promotedMs: number;
}

const appName = 'shop';
const prefix = 'am';

/**
 * Runs writers over all scopes of state on a cluster of six nodes. The node with the sessions of the first
 * user is killed, its replica is promoted, and the node comes back as a replica. Then the store is compared
 * with the acknowledged writes.
 */
export async function runFailover(options: FailoverOptions): Promise<FailoverResult> {
  const { waitReplicas, writers = 64, commits = 12, cutOffMs = 300, onEvent = () => {} } = options;
  await using owners = new AsyncDisposableStack();
  const cluster = owners.use(await startRedisCluster());
  const stores = await Promise.all(
    Array.from({ length: 4 }, async () =>
      owners.use(
        await connectRedisStore({
          url: cluster.url,
          prefix,
          waitReplicas,
          timeoutMs: 3_000,
          onError: () => {},
        }),
      ),
    ),
  );
  const services = stores.map(({ sessions }) => sessions);
  const [first] = services;
  if (!first) throw new Error('no store');
  const refs = sessionRefs();
  for (const ref of refs) await first.createSession(ref);

  const writes: DeltaWrite[] = [];
  const acknowledgedAt: number[] = [];
  const working = Array.from({ length: writers }, async (_, at) => {
    const sessions = services[at % services.length];
    const session = refs[at % refs.length];
    if (!sessions || !session) throw new Error('a writer needs a session');
    await writeAll({ sessions, ref: session, name: `w${at}`, commits, writes, acknowledgedAt });
  });
  const all = Promise.all(working);
  all.catch(() => {});
  await until(() => acknowledgedAt.length > (writers * commits) / 6, {
    timeoutMs: 30_000,
    what: 'a part of the commits',
  });
  const promotedMs = await failOver(cluster, { cutOffMs, onEvent });
  await all;
  const sessions = await readAll(first, refs);
  const history: DeltaHistory = { writes, sessions };
  const gaps = acknowledgedAt
    .toSorted((a, b) => a - b)
    .map((time, at, times) => time - (times[at - 1] ?? time));
  return { violations: checkDeltas(history), writes: writes.length, gapMs: Math.max(...gaps), promotedMs };
}

function sessionRefs(): SessionRef[] {
  return ['ann', 'bob', 'cid', 'dan'].flatMap((userId) =>
    ['one', 'two'].map((sessionId) => ({ appName, userId, sessionId })),
  );
}

interface Writer {
  sessions: SessionService;
  ref: SessionRef;
  name: string;
  commits: number;
  writes: DeltaWrite[];
  acknowledgedAt: number[];
}

/** Commits one event after the other. Repeats each until it is acknowledged, as a redelivered run does. */
async function writeAll({ sessions, ref, name, commits, writes, acknowledgedAt }: Writer): Promise<void> {
  for (let n = 0; n < commits; n += 1) {
    const value = `${name}/${n}`;
    const delta = Object.fromEntries(
      ['', 'user:', 'app:'].flatMap((scope) => [
        [`${scope}last`, value],
        [`${scope}of-${name}`, value],
      ]),
    );
    const write: DeltaWrite = { session: ref, eventId: value, delta, begun: performance.now() };
    writes.push(write);
    const actions = {
      stateDelta: delta,
      artifactDelta: {},
      requestedAuthConfigs: {},
      requestedToolConfirmations: {},
    };
    const event = createEvent({ id: value, invocationId: `i-${name}`, author: name, actions });
    await until(async () => await commit(sessions, ref, event), {
      timeoutMs: 60_000,
      what: `commit ${value}`,
    });
    write.acknowledged = performance.now();
    acknowledgedAt.push(write.acknowledged);
  }
}

type AnEvent = Parameters<SessionService['appendEvent']>[0]['event'];

async function commit(sessions: SessionService, ref: SessionRef, event: AnEvent): Promise<boolean> {
  try {
    const session: Session | undefined = await sessions.getSession({
      ...ref,
      config: { numRecentEvents: 0 },
    });
    if (!session) throw new Error(`session ${ref.sessionId} is gone`);
    await sessions.appendEvent({ session, event });
    return true;
  } catch (error) {
    // The store is away, or the promoted replica lacks events that were read before.
    if (error instanceof MeshError && ['unavailable', 'not_found'].includes(error.code)) return false;
    throw error;
  }
}

async function failOver(
  cluster: RedisCluster,
  { cutOffMs, onEvent }: { cutOffMs: number; onEvent: (what: string) => void },
): Promise<number> {
  const key = keys(prefix).user(appName, 'ann');
  const before = await cluster.primaryOf(key);
  // Cuts the link to the replica while writes continue.
  await before.command(['ACL', 'SETUSER', 'default', '-psync', '-sync']);
  await before.command(['CLIENT', 'KILL', 'TYPE', 'replica']);
  await pause(cutOffMs);
  await before.kill();
  const killed = performance.now();
  onEvent(`killed the node of port ${before.port}`);
  const promoted = async () => (await cluster.primaryOf(key)).port !== before.port;
  await until(promoted, { timeoutMs: 30_000, what: 'a replica to be promoted' });
  const promotedMs = performance.now() - killed;
  onEvent(`its replica has its place after ${Math.round(promotedMs)} ms`);
  await before.start();
  await cluster.settled();
  onEvent('it is back, as a replica');
  return promotedMs;
}

async function readAll(
  sessions: SessionService,
  refs: readonly SessionRef[],
): Promise<DeltaHistory['sessions']> {
  // Reading each user's sessions once applies the `app:` changes that a dead step has left.
  for (const ref of refs) await sessions.getSession(ref);
  return await Promise.all(
    refs.map(async (ref) => {
      const state = (await sessions.getSession(ref))?.state ?? {};
      const events = await sessions.log.readEvents({ ...ref, limit: 100_000 });
      return { ...ref, state, events, initialState: {}, pending: [] };
    }),
  );
}
