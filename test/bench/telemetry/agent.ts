// The process of an agent as users start it, which calls a tool of its own in each turn.
import { App, LlmAgent } from '@agentmesh/agent';
import { runAgentService } from '@agentmesh/mesh';
import { InstantLlm, stockPrice } from '../instant-agent.ts';

const agent = new LlmAgent({
  name: 'turn_agent',
  model: new InstantLlm({ model: 'instant' }),
  tools: [stockPrice],
});
await runAgentService(new App({ name: 'bench_app', rootAgent: agent }));
