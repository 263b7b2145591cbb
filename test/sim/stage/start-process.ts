import { BaseTool } from '@agentmesh/agent';
import { createMesh, type Mesh, serveAgent, serveTool, serviceName } from '@agentmesh/mesh';
import { type Subjects, subjects } from '@agentmesh/protocol';
import type { Logger } from '@agentmesh/service';
import { createBus } from '../../../libs/bus/src/connect/create-bus.ts';
import { createDirectory } from '../../../libs/bus/src/discovery/directory.ts';
import { app, makePart, type PartName, runsPerUser } from '../../chaos/agents.ts';
import type { CountWork } from '../../chaos/effects.ts';
import { chaosModel } from '../../chaos/model.ts';
import { type Sabotage, sabotage, sabotageMesh } from '../../chaos/sabotage.ts';
import type { SimBroker } from '../broker/sim-broker.ts';
import type { SimStore } from '../store/sim-store.ts';
import type { Life } from '../world/life.ts';
import { fillBytes } from '../world/random.ts';
import type { Part, Running } from './place.ts';
import { plainCallers } from './plain-callers.ts';
import { scriptModel } from './sim-model.ts';
import { startGateway } from './start-gateway.ts';

/** The longest time for which a model thinks, in ms. */
const thinkMs = 20;
/** The time for which a job's caller waits, in ms. Longer jobs end after the run that began them. */
const patienceMs = 800;
/** The address of no model: a script answers in its place. */
const noModel = 'http://127.0.0.1:1';

export const names: Subjects = subjects();

/** The servers of a simulation, and what its processes report to. */
export interface Site {
  broker: SimBroker;
  store: SimStore;
  log: Logger;
  sabotage: Sabotage | undefined;
  /** Whether gateways have their HTTP servers. */
  hasHttp: boolean;
  /** Whether the streams of gateways lack events: a sabotage. */
  losesFrames: boolean;
  /** Notes an effect of a tool. */
  countWork: (life: Life) => CountWork;
  onError: (life: Life, error: unknown, where?: string) => void;
}

/** Connects a process to the servers. Two processes never have the same number. */
export async function connectProcess(
  site: Site,
  life: Life,
  { service, number }: { service: string; number: number },
): Promise<Mesh> {
  const { broker, store, log } = site;
  const bytes = fillBytes(broker.wire.world.randomOf('bytes'), new Uint8Array(4));
  const hex = Buffer.from(bytes).toString('hex');
  const onError = (error: unknown, where?: string) => site.onError(life, error, where);
  const { directory, sink } = createDirectory(names, onError);
  const link = broker.connect(life, { service, inbox: `${names.inboxPrefix(service)}.${hex}`, sink });
  const replica = `${service}-${number}-${hex}`;
  const bus = createBus({ link, service, replica, subjects: names, directory, onError });
  const stores = await store.openStore(life);
  if (site.sabotage) sabotage(site.sabotage, { bus, ...stores });
  const mesh = createMesh({
    ...{ bus, ...stores, log, callers: plainCallers },
    limits: { running: () => runsPerUser, waiting: () => 1_000 },
  });
  if (site.sabotage) sabotageMesh(site.sabotage, mesh);
  return mesh;
}

/** Starts a process: connects it, and serves its agent or its tool. */
export async function startProcess(
  site: Site,
  life: Life,
  { part, version, number }: { part: Part; version: string; number: number },
): Promise<Running> {
  if (part === 'gateway') {
    const mesh = await connectProcess(site, life, { service: part, number });
    return { mesh, ...(site.hasHttp && { server: await startGateway(mesh, site) }) };
  }
  const service = serviceName(part.endsWith('_agent') ? 'agent' : 'tool', part);
  const mesh = await connectProcess(site, life, { service, number });
  return { mesh, served: await serve(site, life, mesh, { part, version }) };
}

async function serve(
  site: Site,
  life: Life,
  mesh: Mesh,
  { part, version }: { part: PartName; version: string },
) {
  const { ops, world } = site.broker.wire;
  const { service, models } = makePart(part, noModel, site.countWork(life));
  const script = chaosModel(world.random.fork(`model/${life.name}`).integer(0, 1e9), thinkMs);
  for (const model of models) scriptModel(model, script, { ops, life });
  if (service instanceof BaseTool) return await serveTool(mesh, service, { patienceMs, version });
  return await serveAgent(mesh, service, { version, ...(part === 'front_agent' && { app }) });
}
