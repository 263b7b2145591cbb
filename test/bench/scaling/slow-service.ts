// The process of an agent, as users write it. Its model thinks for MODEL_THINKS_MS on average: a quarter of it to
// seven quarters.
import { setTimeout as delay } from 'node:timers/promises';
import { App, BaseLlm, LlmAgent, type LlmRequest, type LlmResponse } from '@agentmesh/agent';
import { runAgentService } from '@agentmesh/mesh';

class SlowLlm extends BaseLlm {
  override async *generateContentAsync(
    _request: LlmRequest,
    _stream?: boolean,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void> {
    const thinkMs = Number(process.env.MODEL_THINKS_MS) * (0.25 + 1.5 * Math.random());
    await delay(thinkMs, undefined, { signal });
    yield { content: { role: 'model', parts: [{ text: 'done' }] } };
  }
}

const rootAgent = new LlmAgent({ name: 'slow_agent', model: new SlowLlm({ model: 'slow' }) });
await runAgentService(new App({ name: 'slow_app', rootAgent }));
