import { LlmAgent } from '@agentmesh/agent';
import { connectMesh, remoteTool, serveAgent } from '@agentmesh/mesh';
import { createLogger } from '@agentmesh/service';
import { connect } from '@nats-io/transport-node';
import { EchoAgent } from './echo-agent.ts';
import { InstantLlm, stockPrice } from './instant-agent.ts';

const turnAgent = new LlmAgent({
  name: 'turn_agent',
  model: new InstantLlm({ model: 'instant' }),
  tools: [stockPrice],
});

/** An agent whose tool runs in another process. */
const stepsAgent = new LlmAgent({
  name: 'steps_agent',
  model: new InstantLlm({ model: 'instant' }),
  tools: [remoteTool('get_stock_price')],
});

const [natsUrl = '', redisUrl = ''] = process.argv.slice(2);
// MESH_LOG_LEVEL=info measures what the lines of a service cost.
const level = process.env.MESH_LOG_LEVEL === 'info' ? 'info' : 'warn';
const log = createLogger({ service: 'bench', replica: 'bench', level });
const mesh = await connectMesh({ service: 'bench', natsUrl, redisUrl, log });
await serveAgent(mesh, new EchoAgent({ name: 'echo_agent' }));
await serveAgent(mesh, turnAgent, { app: 'bench_app', maxConcurrency: 64 });
await serveAgent(mesh, stepsAgent, { app: 'steps_app' });
const raw = await connect({ servers: natsUrl, noAsyncTraces: true });
raw.subscribe('bench.raw', { queue: 'q', callback: (_error, message) => void message.respond(message.data) });
await raw.flush();
log.warn('started');
