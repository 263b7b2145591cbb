// One replica of one part of the mesh under chaos. A line on stdin (`arm <point> <passes>`) names the point
// at which it dies.
import { createInterface } from 'node:readline';
import { BaseTool } from '@agentmesh/agent';
import { connectNats } from '@agentmesh/bus';
import {
  createCallers,
  createMesh,
  MeshNoArtifacts,
  openServiceArtifacts,
  serveAgent,
  serveTool,
  serviceName,
  usesArtifacts,
} from '@agentmesh/mesh';
import { createLogger } from '@agentmesh/service';
import { connectRedisStore } from '@agentmesh/store';
import { addKillPoints, createKiller, intercept, type KillPoint, killPoints } from '@agentmesh/testing';
import { app, makePart, type PartName, runsPerUser } from './agents.ts';
import { openEffects } from './effects.ts';
import type { Login } from './field/logins.ts';
import { type Sabotage, sabotage, sabotageMesh } from './sabotage.ts';

/** The order for a worker, as JSON on its command line. */
export interface WorkerOrder {
  part: PartName;
  /** The name of this process in the history. Each start has a new name. */
  replica: string;
  natsUrl: string;
  redisUrl: string;
  /** The login of the part's NATS user. The address of Redis has the login of its Redis user. */
  login: Login;
  waitReplicas?: number;
  /** The folder of the notes about effects. */
  effects: string;
  modelUrl: string;
  sabotage?: Sabotage;
}

/** The time for which an agent waits for a job, in ms. Longer jobs end after the run that began them. */
const patienceMs = 800;
/** The time for the work of a process that was asked to end, in ms. */
const graceMs = 2_000;

async function main(order: WorkerOrder): Promise<void> {
  const { part: name, replica, natsUrl, redisUrl, login, modelUrl } = order;
  const log = createLogger({ service: name, replica, level: 'warn', destination: process.stderr });
  const onError = (error: unknown, where?: string) => log.error({ err: error, where }, 'defect reported');
  const { sessions, callResults, jobs, callerKeys } = await connectRedisStore({
    url: redisUrl,
    waitReplicas: order.waitReplicas ?? 0,
    onError: (error) => onError(error),
  });
  const kind = name.endsWith('_agent') ? 'agent' : 'tool';
  const service = serviceName(kind, name);
  const bus = await connectNats({ url: natsUrl, service, ...login, cards: kind === 'agent', onError });
  const effects = openEffects(order.effects, replica);
  if (order.sabotage) sabotage(order.sabotage, { bus, sessions, callResults, jobs });
  intercept(bus, 'consumeRuns', (call) => (agent, handler, options) => {
    const counted = (item: Parameters<typeof handler>[0]) => {
      if (item.attempt > 1) effects.redelivered();
      return handler(item);
    };
    return call(agent, counted, options);
  });
  const part = makePart(name, modelUrl, effects.count);
  const killer = createKiller();
  addKillPoints(killer, { sessions, bus, ...part });
  createInterface(process.stdin).on('line', (line) => {
    const [, point, passes] = line.split(' ');
    const known = killPoints.find((each): each is KillPoint => each === point);
    if (known) killer.arm(known, Number(passes));
  });
  const limits = { running: () => runsPerUser, waiting: () => 1_000 };
  const mesh = createMesh({
    ...{ bus, sessions, callResults, jobs, limits, log, callers: createCallers(callerKeys) },
    artifacts: usesArtifacts(part.service)
      ? await openServiceArtifacts('nats', bus)
      : new MeshNoArtifacts(service),
  });
  if (order.sabotage) sabotageMesh(order.sabotage, mesh);
  const served =
    part.service instanceof BaseTool
      ? await serveTool(mesh, part.service, { patienceMs })
      : await serveAgent(mesh, part.service, name === 'front_agent' ? { app } : {});
  process.once('SIGTERM', async () => {
    await served.stop({ graceMs });
    process.exit(0);
  });
  process.stdout.write('started\n');
}

await main(JSON.parse(process.argv[2] ?? '{}'));
