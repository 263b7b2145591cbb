// The process of one agent in a project that has installed the packages, whose model answers after the time that its
// argument gives, in ms: the memory of runs that wait is measured.
import { setTimeout as delay } from 'node:timers/promises';
import { App, BaseLlm, LlmAgent } from '@agentmesh/agent';
import { runAgentService } from '@agentmesh/mesh';

class SlowLlm extends BaseLlm {
  async *generateContentAsync() {
    await delay(Number(process.argv[2]));
    yield { content: { role: 'model', parts: [{ text: 'done' }] } };
  }
}

const agent = new LlmAgent({ name: 'slow_agent', model: new SlowLlm({ model: 'slow' }) });
await runAgentService(new App({ name: 'slow_app', rootAgent: agent }));
