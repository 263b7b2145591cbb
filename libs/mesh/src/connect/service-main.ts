import { App, BaseAgent, type BasePlugin, BaseTool, type InvocationServices } from '@agentmesh/agent';
import type { Started } from '@agentmesh/bus';
import { AsyncDisposableStack, assertOptions, MeshError, type OptionNames } from '@agentmesh/protocol';
import {
  type Config,
  type ConfigShape,
  type Logger,
  runMain,
  type ServiceConfig,
  type serviceConfig,
  startProbes,
} from '@agentmesh/service';
import { serviceName } from '../mesh/service-name.ts';
import { usesArtifacts } from '../rights/service-manifest.ts';
import { type ServeAgentOptions, serveAgent, serveAgentOptions } from '../serve/serve-agent.ts';
import { type ServeToolOptions, serveTool, serveToolOptions } from '../serve/serve-tool.ts';
import { agentConfig, assertModels } from './agent-config.ts';
import { type ConnectedMesh, connectService } from './connect-mesh.ts';

export interface MainOptions extends InvocationServices {
  /** The version that the card shows; default that of the nearest `package.json` of the program. */
  version?: string;
  /** Runs before the service connects; its result is disposed at the end. */
  prepare?: (log: Logger) => Promise<AsyncDisposable | undefined>;
}

/**
 * Time before the end of the process at which its work must be done, in ms: connections are closed in that
 * time.
 */
const closingMs = 1_000;

/** The settings of an app, which its definition has. */
type OfApp = 'app' | 'resumabilityConfig' | 'eventsCompactionConfig';
type AgentServiceOptions = MainOptions & Omit<ServeAgentOptions, 'maxConcurrency' | OfApp>;
type ToolServiceOptions = MainOptions & Omit<ServeToolOptions, 'maxConcurrency'>;

const {
  maxConcurrency: _ofAgents,
  app: _app,
  resumabilityConfig: _resumability,
  eventsCompactionConfig: _compaction,
  ...agentServing
} = serveAgentOptions;
const agentOptions: OptionNames<AgentServiceOptions> = { ...agentServing, prepare: true };
const { maxConcurrency: _ofTools, ...toolServing } = serveToolOptions;
const toolOptions: OptionNames<ToolServiceOptions> = { ...toolServing, prepare: true };

interface ServedAgent extends Pick<ServeAgentOptions, OfApp> {
  agent: BaseAgent;
  plugins: readonly BasePlugin[];
}

/** Returns the agent of a definition, and all settings that the definition has for it. */
export function servedBy(definition: App | BaseAgent): ServedAgent {
  if (!(definition instanceof App)) return { agent: definition, plugins: [] };
  const { name: app, rootAgent: agent, plugins, resumabilityConfig, eventsCompactionConfig } = definition;
  return {
    ...{ agent, app, plugins },
    ...(resumabilityConfig && { resumabilityConfig }),
    ...(eventsCompactionConfig && { eventsCompactionConfig }),
  };
}

/**
 * Runs the process of an app's root agent, or of an agent that other agents use: reads the configuration from the
 * environment, makes the log, serves health, connects, and drains on SIGTERM. The process ends with exit code 1 when
 * a model of the agent has no key, or when its Redis user has no rights for the app.
 *
 * @throws MeshError `invalid_argument` for an unknown option, or without an app or an agent
 */
export async function runAgentService(
  definition: App | BaseAgent,
  options: AgentServiceOptions = {},
): Promise<void> {
  if (!(definition instanceof App || definition instanceof BaseAgent))
    throw new MeshError('invalid_argument', 'runAgentService needs an app or an agent: runAgentService(app)');
  assertOptions('runAgentService', options, agentOptions);
  const { agent, plugins, ...ofApp } = servedBy(definition);
  const { prepare, plugins: more = [], ...serving } = options;
  await runServed({
    name: serviceName('agent', agent.name),
    cards: true,
    usesArtifacts: usesArtifacts(agent),
    version: serving.version,
    variables: agentConfig,
    prepare,
    check: (config, log) => assertModels(agent, config, log),
    async serve(mesh, { maxConcurrency }, version) {
      await assertRights(mesh, agent, ofApp.app ?? agent.name);
      return await serveAgent(mesh, agent, {
        ...ofApp,
        ...serving,
        ...version,
        plugins: [...plugins, ...more],
        maxConcurrency,
      });
    },
  });
}

/** Reads from an app, so that missing rights are reported at the start, and not by the first message. */
async function assertRights({ sessions }: ConnectedMesh, agent: BaseAgent, app: string): Promise<void> {
  try {
    await sessions.log.readEvents({ appName: app, userId: '', sessionId: '', limit: 1 });
  } catch (cause) {
    if (MeshError.from(cause).code !== 'permission_denied') throw cause;
    throw new MeshError(
      'permission_denied',
      `the redis user of agent ${agent.name} has no rights for app ${app}; export new App({ name: '${app}', rootAgent }) beside the agent, and write the users of redis again`,
      { cause },
    );
  }
}

/** Runs the process of a tool. @throws MeshError `invalid_argument` for an unknown option, or without a tool */
export async function runToolService(tool: BaseTool, options: ToolServiceOptions = {}): Promise<void> {
  if (!(tool instanceof BaseTool))
    throw new MeshError('invalid_argument', 'runToolService needs a tool: runToolService(tool)');
  assertOptions('runToolService', options, toolOptions);
  const { prepare, ...serving } = options;
  await runServed({
    name: serviceName('tool', tool.name),
    cards: false,
    usesArtifacts: usesArtifacts(tool),
    version: serving.version,
    variables: {},
    prepare,
    serve: (mesh, { maxConcurrency }, version) =>
      serveTool(mesh, tool, { ...serving, ...version, maxConcurrency }),
  });
}

interface Served<S extends ConfigShape> extends Pick<MainOptions, 'prepare'> {
  name: string;
  /** The version that the program gives. */
  version: string | undefined;
  /** True for a service that reads the cards of other services. */
  cards: boolean;
  usesArtifacts: boolean;
  /** The variables beside the variables of every service. */
  variables: S;
  /** Throws when the service cannot work as it is configured. */
  check?: (config: Config<typeof serviceConfig & S>, log: Logger) => void;
  serve: (mesh: ConnectedMesh, config: ServiceConfig, version: { version?: string }) => Promise<Started>;
}

async function runServed<S extends ConfigShape>(served: Served<S>): Promise<void> {
  const { name, cards, usesArtifacts, variables, prepare, check, serve } = served;
  await runMain({
    name,
    version: served.version,
    config: variables,
    async start(whole, { log, replica, version }) {
      await using owners = new AsyncDisposableStack();
      owners.use(await prepare?.(log));
      check?.(whole, log);
      const config = whole as ServiceConfig;
      const mesh = owners.use(await connectService(name, config, log, { cards, usesArtifacts, replica }));
      let stopping = false;
      const ready = async () => (stopping ? ['stopping'] : await mesh.problems());
      owners.use(await startProbes({ config, ready, service: name, replica, version, log }));
      const serving = await serve(mesh, config, version === undefined ? {} : { version });
      owners.defer(async () => {
        stopping = true;
        await serving.stop({ graceMs: Math.max(config.graceMs - closingMs, 0) });
      });
      return owners.move();
    },
  });
}
