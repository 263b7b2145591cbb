import { createInterface } from 'node:readline';
import { openCards, provision } from '@agentmesh/bus';
import { connectMesh, type Mesh, type RunRequest, startRun } from '@agentmesh/mesh';
import { type Event, MeshError, newCredentialKeys } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import { endProcess, spawnGuarded, startNats, startRedis, until } from '@agentmesh/testing';
import type { Outcome, Scenario, SeenEvent, SeenSession } from './kit.ts';
import { normalize } from './normalize.ts';
import { readTurn, runConfigOf, scriptServer, sessionsOf } from './run-local.ts';
import { scenarios } from './scenarios/index.ts';
import type { MeshPlace, ServeOrder } from './worker.ts';

const namespace = 'conformance';
const owner = { appName: 'conformance', userId: 'u' };

export interface ProcessMesh extends AsyncDisposable {
  /** Runs a scenario with every agent and tool in its own process. */
  run(scenario: Scenario): Promise<Outcome>;
}

/** Starts NATS, Redis, and processes that serve one part of a scenario each. */
export async function startProcessMesh(): Promise<ProcessMesh> {
  await using owners = new AsyncDisposableStack();
  const nats = owners.use(await startNats());
  const redis = owners.use(await startRedis());
  const workers: Worker[] = [];
  const credentialKeys = newCredentialKeys();
  // A mesh of streams for each scenario would cost nats-server more than the scenarios themselves.
  const agents = [...new Set(scenarios.flatMap(({ parts }) => Object.keys(parts)))];
  await provision({ url: nats.url, namespace, agents, storage: 'memory' });
  const cards = owners.use(await openCards({ url: nats.url, namespace }));
  let count = 0;
  const run = async (scenario: Scenario): Promise<Outcome> => {
    count += 1;
    const parts = Object.keys(scenario.parts);
    while (workers.length < parts.length) workers.push(all.use(startWorker()));
    await using server = await scriptServer(scenario.script);
    const redisPrefix = `c${count}`;
    const place = { natsUrl: nats.url, redisUrl: redis.url, namespace, redisPrefix, credentialKeys };
    // The other parts start first, and the root, which uses them, last.
    const order = [...parts.filter((part) => part !== scenario.root), scenario.root];
    await Promise.all(
      order.map((part, index) =>
        workers[index]?.send({ ...place, scenario: scenario.name, part, modelUrl: server.url }),
      ),
    );
    const outcome = await talk(scenario, place, parts);
    await Promise.all(workers.map((worker) => worker.send('stop')));
    for (const { kind, name } of await cards.list()) await cards.remove(kind, name);
    const { inParallel } = scenario;
    return normalize({ ...outcome, requests: server.requests, inParallel });
  };
  const all = owners.move();
  return { run, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

async function talk(scenario: Scenario, place: MeshPlace, parts: readonly string[]) {
  const log = createLogger({ service: 'conformance', replica: 'driver', level: 'error' });
  await using mesh = await connectMesh({ service: 'driver', ...place, log });
  await until(
    () => parts.length === mesh.bus.directory.list('agent').length + mesh.bus.directory.list('tool').length,
    {
      what: 'the cards of all parts',
    },
  );
  const sessionIds = sessionsOf(scenario);
  const { state = {} } = scenario;
  for (const sessionId of sessionIds) await mesh.sessions.createSession({ ...owner, sessionId, state });
  const turns: SeenEvent[][] = [];
  for (const turn of scenario.turns) {
    const { message, session, ...rest } = readTurn(turn, turns.flat());
    const where = { app: owner.appName, user: owner.userId, session };
    const request = { ...where, message, runConfig: runConfigOf(scenario), ...rest };
    turns.push(await runTurn(mesh, scenario, request));
  }
  const sessions: Record<string, SeenSession> = {};
  for (const sessionId of sessionIds) {
    const kept = await mesh.sessions.getSession({ ...owner, sessionId });
    if (kept) sessions[sessionId] = kept;
  }
  // The next scenario has its own keys in Redis, but the same bucket of files.
  await mesh.artifacts.deleteAll(owner);
  return { turns, sessions };
}

async function runTurn(mesh: Mesh, { root }: Scenario, request: RunRequest): Promise<SeenEvent[]> {
  try {
    const { events } = await startRun(mesh, request);
    const seen: Event[] = await Array.fromAsync(events);
    return seen.map(seenOf);
  } catch (error) {
    // The mesh refuses the message at once; in one process the error is thrown.
    if (!(error instanceof MeshError)) throw error;
    return [{ errorCode: 'thrown', author: root }];
  }
}

/**
 * Returns the comparable fields of an event. On the mesh a failed run ends with an error event of its agent;
 * in one process the error is thrown, as if by the root.
 */
function seenOf({ actions, ...event }: Event): SeenEvent {
  const { author = '' } = event;
  if (event.id.endsWith(':failure')) return { errorCode: 'thrown', author };
  return { ...event, actions: { ...actions } };
}

interface Worker extends AsyncDisposable {
  send(order: ServeOrder | 'stop'): Promise<void>;
}

function startWorker(): Worker {
  const child = spawnGuarded([process.execPath, 'worker.ts'], {
    cwd: import.meta.dirname,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const { stdin, stdout } = child;
  if (!stdin || !stdout) throw new Error('a worker without pipes');
  const waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];
  createInterface(stdout).on('line', (line) => {
    const next = waiting.shift();
    if (line === 'done') next?.resolve();
    else next?.reject(new Error(line));
  });
  return {
    send(order) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      waiting.push({ resolve, reject });
      stdin.write(`${order === 'stop' ? order : JSON.stringify(order)}\n`);
      return promise;
    },
    [Symbol.asyncDispose]: () => endProcess(child, 'SIGKILL'),
  };
}
