import {
  type BaseAgent,
  type BasePlugin,
  BaseTool,
  type EventsCompactionConfig,
  type InvocationServices,
  LlmAgent,
  PluginManager,
  type ResumabilityConfig,
} from '@agentmesh/agent';
import {
  assertResumability,
  closeToolsets,
  compactorsOf,
  invocationServiceNames,
  toGenaiSchema,
} from '@agentmesh/agent/internal';
import type { Started } from '@agentmesh/bus';
import { type AgentCard, assertOptions, every, MeshError, type OptionNames } from '@agentmesh/protocol';
import { expireCalls } from '../answers/expire-calls.ts';
import { consumeOperations } from '../answers/take-update.ts';
import { handleDelegated, handleQuestion } from '../asks/handle-ask.ts';
import { listenForCancellations } from '../mesh/cancellations.ts';
import { agentCards, untilCardsAreRead } from '../mesh/cards.ts';
import { type Mesh, meshServices } from '../mesh/mesh.ts';
import { twoRoots } from '../mesh/root-agent.ts';
import { FullShares } from '../mesh/run-limits.ts';
import { type ServedAgent, unknownVersion } from '../mesh/served-agent.ts';
import { stopAll } from '../mesh/stop-all.ts';
import { bindRemotes, type Remotes, remotesOf, writesOf } from '../remote/remotes.ts';
import { handleRun } from '../runs/handle-run.ts';
import { defaultSweepMs, startSweeper } from '../runs/run-queue.ts';
import { announceCard } from './announce-card.ts';
import { restoreCard } from './keep-card.ts';
import { modelsOf } from './models-of.ts';
import { takeGhosts } from './take-ghosts.ts';

export interface ServeAgentOptions extends InvocationServices {
  /** Plugins that see and change what the agent does; they are called before its own callbacks. */
  plugins?: BasePlugin[];
  /** The app whose root agent this is; absent for an agent that only other agents use. */
  app?: string;
  /**
   * For the root of an app: tells whether an answer that names the invocation with the question may continue
   * that invocation. Default no.
   */
  resumabilityConfig?: ResumabilityConfig;
  /** For the root of an app and all agents below it in this process: how conversations are kept short. */
  eventsCompactionConfig?: EventsCompactionConfig;
  /** The version that the card shows; default 0.0.0. */
  version?: string;
  /** Number of runs that this replica works on at once; default 16. */
  maxConcurrency?: number;
  /**
   * Average time between two sweeps of a replica, in ms. A sweep looks for calls whose deadline is over, and
   * for runs that a crash left waiting. The times are random, so that replicas do not all look at once.
   * Default 5 s.
   */
  sweepMs?: number;
}

export const serveAgentOptions: OptionNames<ServeAgentOptions> = {
  ...invocationServiceNames,
  plugins: true,
  app: true,
  resumabilityConfig: true,
  eventsCompactionConfig: true,
  version: true,
  maxConcurrency: true,
  sweepMs: true,
};

/**
 * Puts an agent on the mesh: its card, its run queue, its asks. Any number of processes may serve the same
 * agent; they share the work.
 *
 * @throws MeshError `failed_precondition` when another agent is the root of the same app; `invalid_argument`
 * for an unknown option, for an agent without a model, and for a global instruction that cannot be sent to the agents in other processes;
 * `unavailable` when NATS does not give the cards of the mesh
 */
export async function serveAgent(
  mesh: Mesh,
  agent: BaseAgent,
  options: ServeAgentOptions = {},
): Promise<Started> {
  assertOptions(`serveAgent ${agent.name}`, options, serveAgentOptions);
  assertResumability(options.resumabilityConfig);
  const {
    app,
    sweepMs = defaultSweepMs,
    maxConcurrency = 16,
    version,
    plugins = [],
    resumabilityConfig,
    eventsCompactionConfig,
    ...services
  } = options;
  assertSharedInstruction(agent);
  modelsOf(agent);
  // A run must not find its sub-agents absent because nobody has read their cards.
  await untilCardsAreRead(mesh, readCardsMs);
  await assertOnlyRoot(mesh, agent, app, () => true);
  const remotes = bindRemotes(agent, mesh);
  const stopping = new AbortController();
  const cancellations = await listenForCancellations(mesh);
  const served: ServedAgent = {
    cancellations,
    mesh,
    agent,
    app,
    version,
    stopping: stopping.signal,
    fullShares: new FullShares(),
    writesOf: (tool) => writesOf(remotes, tool),
    services: {
      ...meshServices(mesh),
      ...services,
      pluginManager: new PluginManager(plugins),
      contextCompactors: compactorsOf(eventsCompactionConfig),
    },
  };
  const { bus, subjects } = mesh;
  const run = subjects.agentRun(agent.name, every);
  const ask = subjects.agentAsk(agent.name);
  const delegate = subjects.agentDelegate(agent.name);
  const card = {
    ...cardOf(agent, app, version ?? unknownVersion),
    resumable: resumabilityConfig?.isResumable ?? false,
  };
  const endCard = restoreCard(mesh, card, { isStored: await announceCard(mesh, card) });
  // The order matters: a caller that finds the service can use it.
  const limits = { maxConcurrency: maxConcurrency * 4 };
  const asks = await bus.serve(ask, (request) => handleQuestion(served, request), limits);
  const delegatedAsks = await bus.serve(delegate, (request) => handleDelegated(served, request), limits);
  const { name, description } = agent;
  const runs = await bus.consumeRuns(name, (item) => handleRun(served, item), { maxConcurrency });
  const registration = await bus.register(
    {
      kind: 'agent',
      name: subjects.shownAs(name),
      version: version ?? unknownVersion,
      description,
      calls: () => mesh.callCounts.list(),
    },
    [ask, delegate, run],
  );
  // Of two services that started at the same time, neither saw the other before.
  await assertOnlyRoot(mesh, agent, app, (other) => other < name).catch(async (error: unknown) => {
    endCard();
    await stopAll([registration, runs, asks, delegatedAsks], 0, stopping);
    await cancellations.stop();
    throw error;
  });
  const operations = await consumeOperations(served);
  const ghosts = takeGhosts(served, { lookMs: sweepMs, maxConcurrency });
  const sweeper = startSweeper(mesh, agent.name, { sweepMs, expire: () => expireCalls(served, sweepMs) });
  mesh.log.info({ agent: name, app, maxConcurrency }, 'serving agent');
  // A mesh starts its services together.
  reportAbsent(mesh, name, remotes, 'debug');
  const absenceCheck = setTimeout(() => reportAbsent(mesh, name, remotes, 'warn'), checkAfterMs);
  absenceCheck.unref();
  return {
    async stop({ graceMs = 25_000 } = {}) {
      clearTimeout(absenceCheck);
      endCard();
      await stopAll(
        [registration, runs, operations, asks, delegatedAsks, sweeper, ghosts],
        graceMs,
        stopping,
      );
      await cancellations.stop();
      await closeToolsets(agent);
    },
  };
}

/** The longest time for which the start of an agent waits for the cards of the mesh, in ms. */
const readCardsMs = 20_000;
/** Time after which all used services should be up, in ms. */
const checkAfterMs = 15_000;

/**
 * Reports used services that are absent. Nothing else finds a misspelled name: the mesh takes it for a
 * service that has not started yet.
 */
function reportAbsent(
  mesh: Mesh,
  name: string,
  { transfers, asks, tools }: Remotes,
  level: 'debug' | 'warn',
): void {
  const { directory } = mesh.bus;
  const absent = [
    ...[...transfers, ...asks].filter((agent) => !directory.get('agent', agent.name)),
    ...tools.filter((tool) => !directory.get('tool', tool.name)),
  ].map((each) => each.name);
  if (absent.length === 0) return;
  const known = [...directory.list('agent'), ...directory.list('tool')].map((card) => card.name);
  mesh.log[level](
    { agent: name, absent, known },
    `uses services that are not in the mesh: ${absent.join(', ')}; there are ${known.join(', ') || 'none'}`,
  );
}

/**
 * Checks that no other agent is the root of the app. @throws MeshError `failed_precondition` when another
 * root is up and `comesFirst`
 */
async function assertOnlyRoot(
  mesh: Mesh,
  { name }: BaseAgent,
  app: string | undefined,
  comesFirst: (other: string) => boolean,
): Promise<void> {
  const others = agentCards(mesh).filter(
    (card) => app !== undefined && card.app === app && card.name !== name && comesFirst(card.name),
  );
  for (const other of others) {
    if (!(await mesh.bus.isServed(mesh.subjects.shownAs(other.name)))) continue;
    throw new MeshError('failed_precondition', twoRoots(app ?? '', [other.name, name]));
  }
}

function cardOf(agent: BaseAgent, app: string | undefined, version: string): Omit<AgentCard, 'resumable'> {
  const llm = agent instanceof LlmAgent ? agent : undefined;
  return {
    kind: 'agent',
    name: agent.name,
    description: agent.description,
    version,
    llm: llm !== undefined,
    ...(app !== undefined && { app }),
    // An agent elsewhere below an agent of this process has this service for its parent on the mesh.
    subAgents: [...new Set([...agent.subAgents, ...remotesOf(agent).transfers].map(({ name }) => name))],
    tools: (llm?.tools ?? []).flatMap((tool) => (tool instanceof BaseTool ? tool.name : [])),
    ...(typeof llm?.globalInstruction === 'string' &&
      llm.globalInstruction !== '' && { globalInstruction: llm.globalInstruction }),
    disallowTransferToParent: llm?.disallowTransferToParent ?? false,
    disallowTransferToPeers: llm?.disallowTransferToPeers ?? false,
    ...(llm?.inputParameters && { inputSchema: { ...toGenaiSchema(llm.inputParameters) } }),
    ...(llm?.outputSchema && { outputSchema: { ...toGenaiSchema(llm.outputSchema) } }),
  };
}

/**
 * Refuses a global instruction that agents in other processes cannot get: their only source is the card,
 * which holds a text.
 */
function assertSharedInstruction(agent: BaseAgent): void {
  if (!(agent instanceof LlmAgent) || typeof agent.globalInstruction === 'string') return;
  const elsewhere = [...agent.tree()].filter(({ isRemote }) => isRemote).map(({ name }) => name);
  if (elsewhere.length === 0) return;
  throw new MeshError(
    'invalid_argument',
    `the globalInstruction of agent ${agent.name} is a function, which ${elsewhere.join(', ')} in other processes cannot get: make it a text with {keys} of the state, or give every process a GlobalInstructionPlugin`,
  );
}
