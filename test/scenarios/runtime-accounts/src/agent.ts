import { BaseAgent, createEvent, type Event, type InvocationContext } from '@agentmesh/agent';

class EchoAgent extends BaseAgent {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const { invocationId, userContent } = context;
    const text = userContent?.parts?.map((part) => part.text ?? '').join(' ') ?? '';
    yield createEvent({ invocationId, author: this.name, content: { role: 'model', parts: [{ text }] } });
  }
}

/** An agent that joins the mesh while it runs. */
export const echoAgent = new EchoAgent({ name: 'echo_agent', description: 'Repeats what it is told.' });
