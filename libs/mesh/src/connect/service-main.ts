import { BaseAgent, BaseTool, type InvocationServices } from '@agentmesh/agent';
import type { Started } from '@agentmesh/bus';
import { assertOptions, MeshError, type OptionNames } from '@agentmesh/protocol';
import { type Logger, runMain, type ServiceConfig, startHealth } from '@agentmesh/service';
import { serviceName } from '../mesh/service-name.ts';
import { type ServeAgentOptions, serveAgent, serveAgentOptions } from '../serve/serve-agent.ts';
import { type ServeToolOptions, serveTool, serveToolOptions } from '../serve/serve-tool.ts';
import { type ConnectedMesh, connectService } from './connect-mesh.ts';

export interface MainOptions extends InvocationServices {
  version?: string;
  /** Runs before the service connects; what it returns is disposed at the end. */
  prepare?: (log: Logger) => Promise<AsyncDisposable | undefined>;
}

/** How long before the end of the process its work must be done, in ms: connections are closed in that time. */
const closingMs = 1_000;

type AgentServiceOptions = MainOptions & Omit<ServeAgentOptions, 'slots'> & { agent: BaseAgent };
type ToolServiceOptions = MainOptions & Omit<ServeToolOptions, 'maxInFlight'> & { tool: BaseTool };

const { slots: _slots, ...agentServing } = serveAgentOptions;
const agentOptions: OptionNames<AgentServiceOptions> = { ...agentServing, agent: true, prepare: true };
const { maxInFlight: _maxInFlight, ...toolServing } = serveToolOptions;
const toolOptions: OptionNames<ToolServiceOptions> = { ...toolServing, tool: true, prepare: true };

/**
 * The whole `main.ts` of an agent's process: config from the environment, log, health, connections, drain on SIGTERM.
 *
 * @throws MeshError `invalid_argument` for an unknown option, or without an agent
 */
export async function runAgentService(options: AgentServiceOptions): Promise<void> {
  assertOptions('runAgentService', options ?? null, agentOptions);
  if (!(options.agent instanceof BaseAgent))
    throw new MeshError('invalid_argument', 'runAgentService needs an agent: runAgentService({ agent })');
  const { agent, prepare: _prepare, ...serving } = options;
  const serve = (mesh: ConnectedMesh, { maxConcurrency }: ServiceConfig) =>
    serveAgent(mesh, agent, { ...serving, slots: maxConcurrency });
  await runServed(serviceName('agent', agent.name), true, options, serve);
}

/** The whole `main.ts` of a tool's process. @throws MeshError `invalid_argument` for an unknown option, or without a tool */
export async function runToolService(options: ToolServiceOptions): Promise<void> {
  assertOptions('runToolService', options ?? null, toolOptions);
  if (!(options.tool instanceof BaseTool))
    throw new MeshError('invalid_argument', 'runToolService needs a tool: runToolService({ tool })');
  const { tool, prepare: _prepare, ...serving } = options;
  const serve = (mesh: ConnectedMesh, { maxConcurrency }: ServiceConfig) =>
    serveTool(mesh, tool, { ...serving, maxInFlight: maxConcurrency });
  await runServed(serviceName('tool', tool.name), false, options, serve);
}

async function runServed(
  name: string,
  cards: boolean,
  { prepare }: MainOptions,
  serve: (mesh: ConnectedMesh, config: ServiceConfig) => Promise<Started>,
): Promise<void> {
  await runMain({
    name,
    async start(config, { log, replica }) {
      await using owners = new AsyncDisposableStack();
      owners.use(await prepare?.(log));
      const mesh = owners.use(await connectService(name, config, log, { cards, replica }));
      let stopping = false;
      if (config.healthPort !== undefined) {
        const ready = async () => (stopping ? ['stopping'] : await mesh.problems());
        owners.use(await startHealth({ port: config.healthPort, host: config.healthHost, ready }));
      }
      const served = await serve(mesh, config);
      owners.defer(async () => {
        stopping = true;
        await served.stop({ graceMs: Math.max(config.graceMs - closingMs, 0) });
      });
      return owners.move();
    },
  });
}
