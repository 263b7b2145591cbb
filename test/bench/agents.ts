import { LlmAgent } from '@agentmesh/agent';
import { connectMesh, serveAgent } from '@agentmesh/mesh';
import { createLogger } from '@agentmesh/service';
import { connect } from '@nats-io/transport-node';
import { EchoAgent } from './echo-agent.ts';
import { InstantLlm, stockPrice } from './instant-agent.ts';

const turnAgent = new LlmAgent({
  name: 'turn_agent',
  model: new InstantLlm({ model: 'instant' }),
  tools: [stockPrice],
});

const [natsUrl = '', redisUrl = ''] = process.argv.slice(2);
const log = createLogger({ service: 'bench', replica: 'bench', level: 'warn' });
const mesh = await connectMesh({ service: 'bench', natsUrl, redisUrl, log });
await serveAgent(mesh, new EchoAgent({ name: 'echo_agent' }));
await serveAgent(mesh, turnAgent, { app: 'bench_app', slots: 64 });
const raw = await connect({ servers: natsUrl, noAsyncTraces: true });
raw.subscribe('bench.raw', { queue: 'q', callback: (_error, message) => void message.respond(message.data) });
await raw.flush();
log.warn('started');
