import { setTimeout as delay } from 'node:timers/promises';
import { BaseLlm, LlmAgent, type LlmResponse } from '@agentmesh/agent';
import { connectMesh, serveAgent } from '@agentmesh/mesh';
import { createLogger } from '@agentmesh/service';

const [natsUrl = '', redisUrl = '', thinkMs, waiting, slots = '16'] = process.argv.slice(2);

/** A model that thinks for a while. */
class SlowLlm extends BaseLlm {
  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
    await delay(Number(thinkMs));
    yield { content: { role: 'model', parts: [{ text: 'done' }] } };
  }
}

const log = createLogger({ service: 'agent_slow_agent', replica: 'bench', level: 'warn' });
const limits = { running: () => 8, waiting: () => Number(waiting) };
const mesh = await connectMesh({ service: 'agent_slow_agent', natsUrl, redisUrl, limits, log });
const agent = new LlmAgent({ name: 'slow_agent', model: new SlowLlm({ model: 'slow' }) });
await serveAgent(mesh, agent, { app: 'slow_app', maxConcurrency: Number(slots) });
log.warn('started');
