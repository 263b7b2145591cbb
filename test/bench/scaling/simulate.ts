import { setTimeout as delay } from 'node:timers/promises';
import { openObserver, provision } from '@agentmesh/bus';
import { type ConnectedMesh, connectMesh } from '@agentmesh/mesh';
import { createLogger } from '@agentmesh/service';
import { startNats, startRedis } from '@agentmesh/testing';
import { createAutoscaler, type ScalingRules } from './autoscaler.ts';
import { createReplicaSet, type RunLine } from './replica-set.ts';

export interface Burst {
  /** Time since the begin, in ms. */
  at: number;
  runs: number;
}

export interface SimulationOptions {
  bursts: readonly Burst[];
  rules: ScalingRules;
  /** Average time that the model thinks, and the grace period of a replica, in ms. */
  thinkMs: number;
  graceMs: number;
  /** Time after which the simulation is given up, in ms. */
  longestMs: number;
}

/** One look at the mesh. Times are in ms since the begin. */
export interface Sample {
  time: number;
  /** Messages before their first delivery, and messages at work. */
  waiting: number;
  working: number;
  wanted: number;
  serving: number;
}

export interface SimulationReport {
  samples: Sample[];
  runs: number;
  /** The number of runs by the status of their records. */
  ends: Record<string, number>;
  /** Runs whose session has not exactly one message and one answer. */
  damaged: number;
  /** Runs that a stopped replica handed back, and the times until another replica had them, in ms, sorted. */
  handedBack: number;
  pauses: number[];
  /** The times from the acceptance of runs to their begins, in ms, sorted. */
  waits: number[];
  stopped: number;
  longestStopMs: number;
  /** The exit codes of replicas other than 0. */
  failures: string[];
  /** The time at which no replica was left, in ms; undefined if it was given up before. */
  idleAt: number | undefined;
}

const lookMs = 100;
const app = 'slow_app';

/**
 * Sends bursts of runs to an agent on a real NATS and Redis, while an autoscaler starts and stops its replicas by the
 * lag of the real consumer, until all bursts are sent and no replica is left.
 */
export async function simulate(options: SimulationOptions): Promise<SimulationReport> {
  await using redis = await startRedis({ appendOnly: true });
  await using nats = await startNats();
  await provision({ url: nats.url, agents: ['slow_agent'] });
  const log = createLogger({ service: 'client', replica: 'bench', level: 'warn' });
  await using client = await connectMesh({ service: 'client', natsUrl: nats.url, redisUrl: redis.url, log });
  await using observer = await openObserver({ service: 'client', url: nats.url });
  await using replicas = createReplicaSet({
    NATS_URL: nats.url,
    REDIS_URL: redis.url,
    MESH_GRACE_MS: String(options.graceMs),
    MODEL_THINKS_MS: String(options.thinkMs),
  });
  const runs = options.bursts.reduce((total, { runs: some }) => total + some, 0);
  for (let n = 0; n < runs; n += 1) await client.sessions.createSession(placeOf(n));
  const decide = createAutoscaler(options.rules);
  const samples: Sample[] = [];
  const sentAt = new Map<string, number>();
  const begin = performance.now();
  const sending = sendAll(client, options.bursts, begin, sentAt);
  let idleAt: number | undefined;
  while (idleAt === undefined) {
    const time = performance.now() - begin;
    if (time > options.longestMs) break;
    const queue = (await observer.queues()).find(({ kind }) => kind === 'run');
    const { waiting = 0, working = 0 } = queue ?? {};
    const { wanted, serving } = replicas;
    samples.push({ time, waiting, working, wanted, serving });
    replicas.scaleTo(decide(time, waiting + working, wanted));
    const isSent = sentAt.size === runs;
    if (
      isSent &&
      samples.some((each) => each.serving > 0) &&
      replicas.wanted + serving + waiting + working === 0
    )
      idleAt = time;
    await delay(lookMs);
  }
  await sending;
  await replicas[Symbol.asyncDispose]();
  const { stopped, longestStopMs, failures, lines } = replicas;
  return {
    ...{ samples, runs, stopped, longestStopMs, failures, idleAt },
    ...(await judge(client, runs)),
    ...timesIn(lines, sentAt),
  };
}

/** One session of one user for each run: neither waits for another run. */
const placeOf = (n: number) => ({ appName: app, userId: `u${n}`, sessionId: `s${n}` });

async function sendAll(
  { bus, subjects }: ConnectedMesh,
  bursts: readonly Burst[],
  begin: number,
  sentAt: Map<string, number>,
): Promise<void> {
  let first = 0;
  for (const { at, runs } of bursts) {
    await delay(Math.max(0, begin + at - performance.now()));
    const numbers = Array.from({ length: runs }, (_, n) => first + n);
    first += runs;
    await Promise.all(
      numbers.map(async (n) => {
        const { userId: user, sessionId: session } = placeOf(n);
        const command = { app, user, session, message: 'go', invocationId: `e-${n}` };
        await bus.enqueue(subjects.agentRun('slow_agent', session), command, { messageId: `run-${n}` });
        sentAt.set(`e-${n}`, Date.now());
      }),
    );
  }
}

/** Reads the record and the log of each run. */
async function judge({ sessions }: ConnectedMesh, runs: number) {
  const ends: Record<string, number> = {};
  let damaged = 0;
  for (let n = 0; n < runs; n += 1) {
    const place = placeOf(n);
    const { status } = await sessions.invocations.get({ ...place, invocationId: `e-${n}` });
    ends[status] = (ends[status] ?? 0) + 1;
    const events = await sessions.log.readEvents({ ...place, afterSeq: 0 });
    const authors = events.map(({ event }) => event.author).join(' ');
    if (authors !== 'user slow_agent') damaged += 1;
  }
  return { ends, damaged };
}

function timesIn(lines: readonly RunLine[], sentAt: ReadonlyMap<string, number>) {
  const begins = lines.filter(({ what }) => what === 'began').sort((a, b) => a.time - b.time);
  const pauses: number[] = [];
  for (const { invocationId, replica, time } of lines.filter(({ outcome }) => outcome === 'given back')) {
    const next = begins.find(
      (each) => each.invocationId === invocationId && each.replica !== replica && each.time >= time,
    );
    if (next) pauses.push(next.time - time);
  }
  const waits = begins
    .filter(({ attempt }) => attempt === 1)
    .map(({ invocationId, time }) => Math.max(0, time - (sentAt.get(invocationId) ?? time)));
  const handedBack = lines.filter(({ outcome }) => outcome === 'given back').length;
  const sorted = (times: number[]) => times.toSorted((a, b) => a - b);
  return { handedBack, pauses: sorted(pauses), waits: sorted(waits) };
}
