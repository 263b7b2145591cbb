// The process of a whole mesh without servers: the services of a project and a gateway, on a bus and stores
// in memory.

import { pathToFileURL } from 'node:url';
import {
  App,
  BaseAgent,
  BaseTool,
  InMemoryCredentialService,
  InMemoryMemoryService,
  InMemorySessionService,
  InMemorySignInService,
} from '@agentmesh/agent';
import { MemoryHub } from '@agentmesh/bus';
import { openAuthenticators, openLimits } from '@agentmesh/gateway/access';
import { gatewayConfig } from '@agentmesh/gateway/config';
import { buildServer } from '@agentmesh/gateway/server';
import {
  agentConfig,
  createCallers,
  createMesh,
  type Mesh,
  memoryCallerKeys,
  memoryCallResults,
  memoryJobs,
  serveAgent,
  serveTool,
  serviceName,
} from '@agentmesh/mesh';
import { AsyncDisposableStack, createSecretBox, newCredentialKeys } from '@agentmesh/protocol';
import { type Logger, runMain } from '@agentmesh/service';

await runMain({
  name: 'mesh',
  config: { ...gatewayConfig, ...agentConfig },
  async start(config, { log }) {
    await using owners = new AsyncDisposableStack();
    const connect = meshInMemory(log, owners, config.credentialKeys?.reveal() ?? newCredentialKeys());
    for (const file of process.argv.slice(2)) {
      const served = await serve(await definitionIn(file), connect);
      owners.defer(() => served.stop({ graceMs: 1_000 }));
    }
    const mesh = { ...(await connect('gateway')), problems: async () => [] };
    const stopping = new AbortController();
    const context = {
      mesh: { ...mesh, [Symbol.asyncDispose]: async () => {} },
      ...{ config, log, stopping: stopping.signal },
    };
    const authenticators = openAuthenticators(config, { log });
    const server = buildServer(context, { ...config, authenticators, limits: openLimits(config, { log }) });
    owners.defer(async () => {
      stopping.abort();
      await server.close();
    });
    await server.listen({ port: config.httpPort, host: config.httpHost });
    log.info({ addresses: server.addresses() }, 'listening');
    return owners.move();
  },
});

/** Returns the function that connects a service with the mesh in memory. */
function meshInMemory(
  log: Logger,
  owners: { use<T extends AsyncDisposable>(owned: T): T },
  credentialKeys: string,
): (service: string) => Promise<Mesh> {
  const hub = new MemoryHub();
  const sessions = new InMemorySessionService();
  const [callResults, jobs] = [memoryCallResults(), memoryJobs()];
  const memory = new InMemoryMemoryService();
  const callers = createCallers(memoryCallerKeys());
  const credentialService = new InMemoryCredentialService();
  const credentials = { credentialService, signInService: new InMemorySignInService() };
  const secrets = { credentials, credentialRecords: credentialService, box: createSecretBox(credentialKeys) };
  return async (service) => {
    const bus = owners.use(
      await hub.connect({ service, onError: (err) => log.error({ err }, 'defect reported') }),
    );
    return createMesh({ bus, sessions, callResults, jobs, memory, callers, log, ...secrets });
  };
}

async function definitionIn(file: string): Promise<App | BaseAgent | BaseTool> {
  const exported: unknown[] = Object.values(await import(pathToFileURL(file).href));
  // The root agent of an app is exported twice: as an agent, and by its app.
  const app = exported.find((each) => each instanceof App);
  if (app) return app;
  const found = exported.find((each) => each instanceof BaseAgent || each instanceof BaseTool);
  if (found) return found;
  throw new Error(`${file} exports no agent and no tool`);
}

async function serve(definition: App | BaseAgent | BaseTool, connect: (service: string) => Promise<Mesh>) {
  if (definition instanceof BaseTool)
    return await serveTool(await connect(serviceName('tool', definition.name)), definition);
  if (definition instanceof BaseAgent)
    return await serveAgent(await connect(serviceName('agent', definition.name)), definition);
  const { name: app, rootAgent, plugins, resumabilityConfig, eventsCompactionConfig } = definition;
  return await serveAgent(await connect(serviceName('agent', rootAgent.name)), rootAgent, {
    app,
    plugins: [...plugins],
    ...(resumabilityConfig && { resumabilityConfig }),
    ...(eventsCompactionConfig && { eventsCompactionConfig }),
  });
}
