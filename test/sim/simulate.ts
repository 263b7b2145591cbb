import type { DeadLetter } from '@agentmesh/protocol';
import { forgetPauses } from '../../libs/agent/src/events/breathe.ts';
import { loadGenAi } from '../../libs/agent/src/schema/genai.ts';
import { app, countingTools, onceTools } from '../chaos/agents.ts';
import type { History, Rest, Violation } from '../chaos/check/history.ts';
import { check } from '../chaos/check/rules.ts';
import { readSessions } from '../chaos/read-sessions.ts';
import { Clients } from './clients/clients.ts';
import { probe } from './clients/probe.ts';
import { makeVisit } from './clients/visit.ts';
import type { FaultPlan } from './faults/fault-plan.ts';
import type { LoggedOp } from './faults/ops.ts';
import { noRates } from './faults/rates.ts';
import { plan } from './faults/timed-fault.ts';
import type { Scenario } from './scenarios/scenario.ts';
import { Stage } from './stage/stage.ts';
import { names } from './stage/start-process.ts';
import { install, within } from './world/patches.ts';
import { World } from './world/world.ts';

install();
// No history may load a module: that takes real time, and one of these draws a random number.
await loadGenAi();

/** One history, and the verdict about it. */
export interface Result {
  violations: Violation[];
  /** The operations of all processes in the traffic, in order. */
  ops: LoggedOp[];
  /** The operations at which a planned fault came. */
  struck: string[];
  /** Tells whether two histories are the same. */
  hash: string;
  /** The trace, if it was kept. */
  lines: string[];
  virtualMs: number;
  history: History;
}

/** The time for the start of a mesh, for the work after the last fault, and for what goes away by itself, in ms. */
const startMs = 60_000;
const settleMs = 90_000;
/** The time for sessions whose runs were lost: half a minute for each run, in ms. */
const recoverMs = 400_000;
const clearMs = 4_000;
/** The pause between two looks whether all work has ended, and the time for late copies of messages, in ms. */
const lookMs = 100;
const lateMs = 300;

/** Runs one history. The same seed, scenario and faults give the same history. */
export async function simulate(
  seed: string,
  scenario: Scenario,
  faults: FaultPlan = {},
  { keepsTrace = false }: { keepsTrace?: boolean } = {},
): Promise<Result> {
  const world = new World(seed, keepsTrace);
  forgetPauses();
  return await within(world, async () => {
    const { replicas, leastShare = 1, hasHttp = false } = scenario;
    const { ops: opFaults = [], sabotage, flushMs = 0, waitsForReplica: isReplicated = true } = faults;
    const stage = new Stage({
      world,
      replicas,
      opFaults,
      stream: { flushMs },
      sabotage,
      isReplicated,
      hasHttp,
    });
    const clients = new Clients(stage);
    const unsettled: string[] = [];
    world.at(0, () => void clients.connect());
    if (!(await world.run(() => stage.isReady && clients.isReady, startMs)))
      unsettled.push('the mesh does not start');
    const isDone = await makeTraffic(stage, clients, scenario, faults);
    unsettled.push(...isDone);
    const { replica } = stage.store.wire;
    if (replica.hasLostWrites)
      unsettled.push(...(await untilDone(stage, () => probe(clients), world.time + recoverMs)));
    stage.isOver = true;
    const history = await readHistory(stage, clients);
    if (!isCalm(stage, faults)) history.rest.objects = [];
    history.unsettled.push(...unsettled, ...world.defects);
    history.leastShare = leastShare;
    history.hasLostWrites = replica.hasLostWrites;
    const { ops } = stage;
    return {
      ...{ violations: check(history), ops: ops.log, struck: ops.struck, history },
      ...{ hash: world.trace.hash, lines: world.trace.lines, virtualMs: world.time },
    };
  });
}

/** Makes the visits, and waits until all work has ended. Returns what has not ended. */
async function makeTraffic(
  stage: Stage,
  clients: Clients,
  { visits, rolls }: Scenario,
  { timed = [], rates = {}, calmAtMs = 0 }: FaultPlan,
): Promise<string[]> {
  const { world, ops } = stage;
  stage.calmAt = world.time + calmAtMs;
  Object.assign(stage.rates, rates);
  world.at(calmAtMs, () => {
    if (calmAtMs > 0) Object.assign(stage.rates, noRates);
  });
  for (const fault of timed) plan(stage, fault);
  ops.isLogging = true;
  const work = async () => {
    const making = visits.map((visit) => makeVisit(clients, visit));
    if (rolls) making.push(stage.roll(rolls, '2.0.0'));
    await Promise.all(making).finally(() => {
      ops.isLogging = false;
    });
  };
  const mayLose = timed.some(({ kind }) => kind === 'failover');
  return await untilDone(stage, work, world.time + calmAtMs + (mayLose ? recoverMs : settleMs));
}

/** Does work of clients, and waits until all work of the mesh has ended. Returns what has not ended. */
async function untilDone(stage: Stage, work: () => Promise<void>, untilMs: number): Promise<string[]> {
  const { world } = stage;
  const unsettled: string[] = [];
  let isDone = false;
  world.at(0, () => {
    work()
      .catch((error: Error) => unsettled.push(`a client failed: ${error.stack}`))
      .finally(() => {
        isDone = true;
      });
  });
  if (!(await world.run(() => isDone, untilMs))) unsettled.push('a client still waits');
  await untilQuiet(stage, untilMs + clearMs);
  await world.run(() => false, world.time + lateMs);
  return unsettled;
}

/** Waits until nobody works. What is left then is left for good. */
async function untilQuiet(stage: Stage, untilMs: number): Promise<void> {
  const { world } = stage;
  let isQuiet = false;
  const look = () => {
    void stage.isQuiet(app).then((quiet) => {
      isQuiet = quiet;
      if (!quiet && world.time < untilMs) world.at(lookMs, look);
    });
  };
  world.at(lookMs / 5, look);
  await world.run(() => isQuiet, untilMs);
}

async function readHistory(stage: Stage, clients: Clients): Promise<History> {
  const { traffic } = clients;
  const { records, faults, executions } = stage;
  return {
    ...{ ...traffic, lives: records, faults, executions, countingTools, onceTools },
    ...(await readSessions(stage.store.direct.sessions, traffic)),
    rest: await readRest(stage),
    ...{ unsettled: [], leastShare: 0, deadlineSlackMs: 3_000 },
  };
}

async function readRest(stage: Stage): Promise<Rest> {
  const { broker, store } = stage;
  const left = broker.stream.rest().filter(({ subject }) => !subject.includes('.audit.'));
  const [dead = [], work = []] = [true, false].map((isDead) =>
    left.filter(({ subject }) => subject.includes('.dead.') === isDead),
  );
  const kindOf = (subject: string) => subject.split('.').slice(0, 5).join('.');
  return {
    streams: [...Map.groupBy(work, ({ subject }) => kindOf(subject))].map(([name, all]) => ({
      ...{ name, messages: all.length },
      ackPending: all.filter(({ isPending }) => isPending).length,
    })),
    redis: await store.rest(),
    deadLetters: dead.map(({ text }) => {
      const { subject, error, payload } = JSON.parse(text) as DeadLetter;
      return { subject, ...error, payload: JSON.stringify(payload) };
    }),
    objects: await broker.buckets.objects(names.claimBucket('work')).ids(),
  };
}

/** Tells whether nothing happened after which a sweep has to remove large payloads. */
function isCalm({ records, faults }: Stage, { rates }: FaultPlan): boolean {
  const isHit = records.some(({ diedAt, pauses }) => diedAt !== undefined || pauses.length > 0);
  return !isHit && faults.length === 0 && rates === undefined;
}
