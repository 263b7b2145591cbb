// The process of one agent, whose start and idle memory are measured.
import { connectMesh, serveAgent } from '@agentmesh/mesh';
import { createLogger } from '@agentmesh/service';
import { EchoAgent } from './echo-agent.ts';

const [natsUrl = '', redisUrl = ''] = process.argv.slice(2);
const log = createLogger({ service: 'agent_idle_agent', replica: 'bench', level: 'warn' });
const mesh = await connectMesh({ service: 'agent_idle_agent', natsUrl, redisUrl, log });
await serveAgent(mesh, new EchoAgent({ name: 'idle_agent' }));
log.warn('started');
