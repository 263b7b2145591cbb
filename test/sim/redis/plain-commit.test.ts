import { type Random, seededRandom } from '@agentmesh/testing';
import { expect, it } from 'vitest';
import { allScripts } from '../../../libs/store/src/functions.ts';
import { libraryOf, type Script } from '../../../libs/store/src/scripts/script.ts';
import { commitScript } from '../../../libs/store/src/sessions/scripts/commit-script.ts';
import {
  plainCommitScript,
  plainEndScript,
} from '../../../libs/store/src/sessions/scripts/plain-commit-script.ts';
import { createScript } from '../../../libs/store/src/sessions/scripts/session-scripts.ts';
import { takeScript } from '../../../libs/store/src/sessions/scripts/take-script.ts';
import { type Bytes, Status } from './reply.ts';
import { SmallRedis } from './small-redis.ts';

const hour = 3_600_000;
const keyNames = [...new Set([...commitScript.keys, ...takeScript.keys, ...createScript.keys])];
const keys = Object.fromEntries(keyNames.map((name) => [name, `am:{t}:${name}:1`]));
/** The session and the list under the names of all scripts. */
const values = { ...keys, list: keys.sessions, id: 's', sessionToken: 's', nonce: 'n1', runningMs: hour };
const nothing = { sessionState: [], userState: [], tempState: [], appState: [], opened: [], closed: [] };
const usual = {
  ...{ ...values, ...nothing, asks: [], answers: [], part: '', attempt: '', whileOpen: '', agent: '' },
  ...{ through: '', aside: 0, ttl: '', most: '', endResume: '', endedMs: 60_000, timestamp: 7 },
  ...{ event: '{"text":"x"}', invocationId: 'i', fencingToken: '1', knownSeq: 1 },
};

function openServer(seed: number) {
  const clock = { ms: 1_000_000 + seed };
  const server = new SmallRedis({ now: () => clock.ms });
  for (const each of allScripts) server.call('FUNCTION', ['LOAD', libraryOf(each)]);
  const run = (
    script: Script & { call(given: never): ReturnType<typeof commitScript.call> },
    given: object,
  ) => {
    const [{ name }, ofKeys, args] = script.call({ ...usual, ...given } as never);
    return server.call('FCALL', [name, String(ofKeys.length), ...ofKeys, ...args.map(String)]);
  };
  return { clock, server, run };
}

const pairsOf = (fields: unknown[]) =>
  fields.flatMap((each, at) => (at % 2 === 0 ? [`${String(each)}=${String(fields[at + 1])}`] : []));

/** Returns all keys with their values; the order of the fields of a hash says nothing. */
function contents(server: SmallRedis): Record<string, unknown> {
  const readers: Record<string, string[]> = {
    ...{ string: ['GET'], set: ['SMEMBERS'], hash: ['HGETALL'] },
    ...{ zset: ['ZRANGE', '0', '-1', 'WITHSCORES'], stream: ['XRANGE', '-', '+'] },
  };
  const read = (key: Bytes) => {
    const type = server.call('TYPE', [key]);
    const kind = type instanceof Status ? type.text : String(type);
    const [command = '', ...args] = readers[kind] ?? [];
    const value = server.call(command, [key, ...args]);
    const sorted = Array.isArray(value) && kind === 'hash' ? pairsOf(value).sort() : value;
    return [key, sorted, server.call('PTTL', [key])] as const;
  };
  const all = (server.call('KEYS', ['*']) as Bytes[]).sort().map(read);
  return Object.fromEntries(all.map(([key, ...rest]) => [key, rest]));
}

/** Traces that other scripts may have left: commands, and the names of their keys. */
const traces: [command: string, key: string, ...args: string[]][] = [
  ['HSET', 'session', 'work', '9'],
  ['HSET', 'session', 'asked', '1', 'again', '1'],
  ['HSET', 'session', 'lease', 'r'],
  ['HSET', 'session', 'hidden', '1'],
  ['HDEL', 'session', 'lease', 'until'],
  ['HSET', 'invocation', 'end', '{"status":"failed"}'],
  ['HSET', 'invocation', 'run', 'r'],
  ['HSET', 'invocation', 'run', 'i', 'end:i', '{"status":"failed"}'],
  ['HDEL', 'invocation', 'begun'],
  ['ZADD', 'waiting', '2', 'r'],
  ['ZADD', 'ready', '2', 't'],
  ['ZADD', 'queued', '9000000000000', 's i'],
];

function leaveTrace(server: SmallRedis, random: Random): void {
  const [command, key, ...args] = random.pick(traces);
  server.call(command, [keys[key] ?? '', ...args]);
}

/** Brings a session into a random state: mostly one in which a run has it. */
function prepare({ clock, server, run }: ReturnType<typeof openServer>, random: Random): void {
  run(createScript, { now: 5, hidden: random.chance(0.1) ? 1 : 0, initial: '{}' });
  const take = {
    run: 'i',
    leaseMs: 9_000,
    whenBusy: 'enqueue',
    message: '',
    resume: '',
    delivery: '',
    place: 1,
  };
  const limits = { most: random.pick(['', '5']), mostQueued: '', refusal: '', rejection: '', earlier: '' };
  run(takeScript, { ...take, ...limits, incarnation: '', onlyWaits: '', onlyNew: '', waitingMs: 7 * hour });
  if (random.chance(0.9))
    run(commitScript, {
      ...end(false),
      eventId: 'e1',
      knownSeq: 0,
      author: 'user',
      calls: 0,
      modelTokens: 0,
    });
  for (let count = random.pick([0, 1, 1, 2]); count > 0; count -= 1) leaveTrace(server, random);
  clock.ms += random.pick([0, 10, 0.01 * hour, 0.05 * hour]);
}

const end = (ends: boolean) => ({ endJson: ends ? '{"status":"completed"}' : '', endRun: 'i' });

it.each([false, true])('writes what the full commit writes, or nothing; of the last event: %s', (ends) => {
  const counts = { plain: 0, unusual: 0 };
  for (let seed = 1; seed <= 1000; seed += 1) {
    const random = seededRandom(seed);
    const made = openServer(seed);
    prepare(made, random);
    const { server, run } = made;
    const event = {
      ...{
        ...end(ends),
        eventId: random.pick(['e1', 'e2', 'e2', 'e2', 'e2']),
        author: random.pick(['a', 'b']),
      },
      ...{ calls: random.integer(0, 2), modelTokens: random.pick([0, 20]) },
      ...{ knownSeq: random.pick([0, 1, 1, 3]), fencingToken: random.pick(['1', '1', '1', '1', '2', '0']) },
    };
    const [before, writes] = [server.copy(), server.writes];
    const reply = run(ends ? plainEndScript : plainCommitScript, event);
    if (reply === 'unusual') {
      counts.unusual += 1;
      expect(server.writes).toBe(writes);
      continue;
    }
    counts.plain += 1;
    const after = contents(server);
    server.restore(before);
    expect(run(commitScript, event), `seed ${seed}`).toEqual(reply);
    const wanted = contents(server);
    // The lists of sessions are in the order of the begins and ends of their runs.
    for (const list of ends ? [] : [keys.sessions, keys.hiddenSessions]) {
      delete wanted[list ?? ''];
      delete after[list ?? ''];
    }
    expect(after, `seed ${seed}`).toEqual(wanted);
  }
  expect(counts.plain).toBeGreaterThan(50);
  expect(counts.unusual).toBeGreaterThan(50);
});
