import { createInterface } from 'node:readline';
import * as agentmesh from '@agentmesh/agent';
import { BaseTool } from '@agentmesh/agent';
import { connectMesh, remoteAgent, remoteTool, serveAgent, serveTool } from '@agentmesh/mesh';
import { createLogger } from '@agentmesh/service';
import type { Kit } from './kit.ts';
import { modelOf } from './run-local.ts';
import { scenarios } from './scenarios/index.ts';

/** The servers and names of a scenario's mesh. */
export interface MeshPlace {
  natsUrl: string;
  redisUrl: string;
  namespace: string;
  redisPrefix: string;
  credentialKeys: string;
}

/** The order, as a line on stdin, to serve a part of a scenario. The worker answers with a line. */
export interface ServeOrder extends MeshPlace {
  scenario: string;
  part: string;
  modelUrl: string;
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

async function serve({ scenario: wanted, part: name, modelUrl, ...place }: ServeOrder): Promise<void> {
  process.env.GOOGLE_GEMINI_BASE_URL = modelUrl;
  process.env.GEMINI_API_KEY = 'scripted';
  const scenario = scenarios.find((one) => one.name === wanted);
  const part = scenario?.parts[name]?.(kit);
  if (!scenario || !part) throw new Error(`no part ${name} in scenario ${wanted}`);
  const owners = new AsyncDisposableStack();
  const mesh = owners.use(await connectMesh({ service: `conformance_${name}`, ...place, log }));
  const started =
    part instanceof BaseTool
      ? await serveTool(mesh, part)
      : await serveAgent(mesh, part, {
          ...(name === scenario.root && { app: 'conformance' }),
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
