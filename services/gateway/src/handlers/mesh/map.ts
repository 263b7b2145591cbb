import { type MeshObserver, type ObservedQueue, type ReplicaStats, shownVersion } from '@agentmesh/bus';
import { agentCards, type Mesh, toolCards } from '@agentmesh/mesh';
import type { AgentCard, ToolCard } from '@agentmesh/protocol';
import { z } from 'zod';
import type { GatewayContext } from '../../context/context.ts';
import type { Handler } from '../../context/route.ts';
import { observerOf } from './observe.ts';

const count = z.number().int();
const time = z.number().describe('in ms since 1970');
const replica = z.looseObject({
  replica: z.string(),
  version: z.string().optional(),
  since: time.optional(),
  requests: count.optional(),
  work: count.optional().describe('runs or jobs that are done'),
  errors: count.optional(),
  calls: z
    .array(
      z.looseObject({
        ...{ to: z.string(), kind: z.enum(['agent', 'tool']), how: z.enum(['transfer', 'call']) },
        ...{ count, errors: count },
      }),
    )
    .optional()
    .describe('its calls of other services, and transfers, since it started'),
});
const replicas = z.array(replica);
const queue = z.looseObject({
  waiting: count.describe('messages before their first delivery'),
  working: count.describe('messages at work'),
  redelivered: count,
  oldest: time.optional().describe('when the oldest message came, in ms since 1970'),
});
const link = z.looseObject({
  to: z.string(),
  kind: z.enum(['agent', 'tool']),
  how: z.enum(['transfer', 'call']),
});

export const mapAnswer = z.looseObject({
  time,
  agents: z.array(
    z.looseObject({
      ...{ name: z.string(), description: z.string(), version: z.string(), app: z.string().optional() },
      ...{ replicas, queue, calls: z.array(link), ownTools: z.array(z.string()) },
    }),
  ),
  tools: z.array(
    z.looseObject({
      ...{ name: z.string(), description: z.string(), version: z.string(), longRunning: z.boolean() },
      ...{ replicas, queue },
    }),
  ),
  gateways: replicas,
  keepers: replicas,
  deadLetters: count,
});
type MeshMap = z.infer<typeof mapAnswer>;

/**
 * The ages up to which a map is sent as it is, and up to which it is sent while a newer one is made, in ms. Replicas have
 * 300 ms to answer, for which nobody who polls has to wait.
 */
const freshMs = 1_000;
const staleMs = 5_000;

interface KnownMap {
  made: number;
  map?: MeshMap;
  /** The map that is being made, for all who look. */
  next?: Promise<MeshMap> | undefined;
}

const maps = new WeakMap<Mesh, KnownMap>();

/** Answers with the services of the mesh: their replicas, their queues, and who calls whom. */
export const getMap: Handler = async (context) => {
  const known = maps.get(context.mesh) ?? { made: 0 };
  maps.set(context.mesh, known);
  const age = performance.now() - known.made;
  if (known.map && age < freshMs) return known.map;
  known.next ??= renew(context, known);
  // A failure reaches those who wait for it.
  known.next.catch(() => {});
  return known.map && age < staleMs ? known.map : await known.next;
};

async function renew(context: GatewayContext, known: KnownMap): Promise<MeshMap> {
  try {
    known.map = await makeMap(context.mesh, await observerOf(context));
    known.made = performance.now();
    return known.map;
  } finally {
    known.next = undefined;
  }
}

async function makeMap(mesh: Mesh, observer: Omit<MeshObserver, keyof AsyncDisposable>): Promise<MeshMap> {
  const [agents, tools] = [agentCards(mesh), toolCards(mesh)];
  const names = [...new Set([...agents, ...tools].map(({ name }) => name)), 'gateway', 'keeper'];
  const [queues, deadLetters, ...found] = await Promise.all([
    observer.queues(),
    observer.deadLetters.count(),
    ...names.map((name) => observer.replicas(name)),
  ]);
  const replicasOf = (name: string) => (found[names.indexOf(name)] ?? []).map(describe);
  const queueOf = (kinds: readonly ObservedQueue['kind'][], name: string) => {
    const consumer = mesh.subjects.workConsumer(name);
    return sumOf(queues.filter((each) => kinds.includes(each.kind) && each.consumer === consumer));
  };
  return {
    time: Date.now(),
    agents: agents.map((card) => ({
      ...pick(card, found[names.indexOf(card.name)]),
      ...(card.app !== undefined && { app: card.app }),
      replicas: replicasOf(card.name),
      queue: queueOf(['run', 'operation'], card.name),
      ...linksOf(card, agents, tools),
    })),
    tools: tools.map((card) => ({
      ...pick(card, found[names.indexOf(card.name)]),
      longRunning: card.longRunning,
      replicas: replicasOf(card.name),
      queue: queueOf(['job'], card.name),
    })),
    gateways: replicasOf('gateway'),
    keepers: replicasOf('keeper'),
    deadLetters,
  };
}

const pick = (card: AgentCard | ToolCard, replicas: readonly ReplicaStats[] = []) => ({
  ...{ name: card.name, description: card.description },
  version: shownVersion(card.version, replicas),
});

function describe({ replica: id, version, load }: ReplicaStats): z.infer<typeof replica> {
  const since = load && Date.parse(load.started);
  return {
    replica: id,
    ...(version !== undefined && { version }),
    ...(since !== undefined && !Number.isNaN(since) && { since }),
    ...(load && {
      requests: load.requests,
      work: load.work,
      errors: load.errors,
      calls: load.calls.map((each) => ({ ...each })),
    }),
  };
}

function sumOf(queues: readonly ObservedQueue[]): z.infer<typeof queue> {
  const sum = (of: (each: ObservedQueue) => number) => queues.reduce((total, each) => total + of(each), 0);
  const ages = queues.flatMap(({ oldest }) => oldest ?? []);
  return {
    waiting: sum((each) => each.waiting),
    working: sum((each) => each.working),
    redelivered: sum((each) => each.redelivered),
    ...(ages.length > 0 && { oldest: Math.min(...ages) }),
  };
}

/** Returns the services that an agent uses by its card, and the names of its tools that are no services. */
function linksOf(card: AgentCard, agents: readonly AgentCard[], tools: readonly ToolCard[]) {
  const isAgent = (name: string) => agents.some((each) => each.name === name);
  const isTool = (name: string) => tools.some((each) => each.name === name);
  const transfers = card.subAgents.filter(isAgent);
  const used = card.tools.filter((name) => isAgent(name) || isTool(name));
  return {
    calls: [
      ...transfers.map((to) => ({ to, kind: 'agent' as const, how: 'transfer' as const })),
      ...used.map((to) => ({
        to,
        kind: isTool(to) ? ('tool' as const) : ('agent' as const),
        how: 'call' as const,
      })),
    ],
    ownTools: card.tools.filter((name) => !used.includes(name)),
  };
}
