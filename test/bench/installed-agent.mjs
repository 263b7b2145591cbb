// The process of one agent in a project that has installed the packages: its start and its idle memory are measured.
import { BaseAgent, createEvent } from '@agentmesh/agent';
import { runAgentService } from '@agentmesh/mesh';

class IdleAgent extends BaseAgent {
  async *runAsyncImpl({ invocationId }) {
    yield createEvent({
      invocationId,
      author: this.name,
      content: { role: 'model', parts: [{ text: 'hello' }] },
    });
  }
}

await runAgentService(new IdleAgent({ name: 'idle_agent' }));
