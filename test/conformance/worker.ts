import { createInterface } from 'node:readline';
import * as agentmesh from '@agentmesh/agent';
import { BaseTool } from '@agentmesh/agent';
import { connectMesh, remoteAgent, remoteTool, serveAgent, serveTool } from '@agentmesh/mesh';
import { createLogger } from '@agentmesh/service';
import type { Kit } from './kit.ts';
import { modelOf } from './run-local.ts';
import { scenarios } from './scenarios/index.ts';

/** The order, as a line on stdin, to serve a part of a scenario. The worker answers with a line. */
export interface ServeOrder {
  scenario: string;
  part: string;
  namespace: string;
  natsUrl: string;
  redisUrl: string;
  modelUrl: string;
  credentialKeys: string;
}

const log = createLogger({
  service: 'conformance',
  replica: String(process.pid),
  // Scenarios fail on purpose.
  level: 'fatal',
  destination: process.stderr,
});
let served: AsyncDisposableStack | undefined;

const kit: Kit = {
  ...agentmesh,
  model: modelOf,
  agent: (name) => remoteAgent(name),
  tool: (name) => remoteTool(name, { writes: ['user', 'app'] }),
};

async function serve(order: ServeOrder): Promise<void> {
  process.env.GOOGLE_GEMINI_BASE_URL = order.modelUrl;
  process.env.GEMINI_API_KEY = 'scripted';
  const scenario = scenarios.find(({ name }) => name === order.scenario);
  const part = scenario?.parts[order.part]?.(kit);
  if (!scenario || !part) throw new Error(`no part ${order.part} in scenario ${order.scenario}`);
  const owners = new AsyncDisposableStack();
  const { natsUrl, redisUrl, namespace, credentialKeys } = order;
  const mesh = owners.use(
    await connectMesh({
      service: `conformance_${order.part}`,
      natsUrl,
      redisUrl,
      namespace,
      redisPrefix: namespace,
      credentialKeys,
      log,
    }),
  );
  const started =
    part instanceof BaseTool
      ? await serveTool(mesh, part)
      : await serveAgent(mesh, part, {
          ...(order.part === scenario.root && { app: 'conformance' }),
          plugins: scenario.plugins?.(kit) ?? [],
          // The memory is local to this process: in each scenario only one part uses memory.
          memoryService: new agentmesh.InMemoryMemoryService(),
        });
  owners.defer(() => started.stop({ graceMs: 0 }));
  served = owners;
}

createInterface(process.stdin).on('line', async (line) => {
  try {
    await served?.disposeAsync();
    served = undefined;
    if (line !== 'stop') await serve(JSON.parse(line));
    process.stdout.write('done\n');
  } catch (error) {
    process.stdout.write(`failed ${error instanceof Error ? error.message : error}\n`);
  }
});
