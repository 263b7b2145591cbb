import { BaseAgent, createEvent, type InvocationContext } from '@agentmesh/agent';
import type { Event } from '@agentmesh/protocol';

/** An agent that returns the text of the message. It shows the cost of an ask without a model. */
export class EchoAgent extends BaseAgent {
  protected override async *runAsyncImpl({
    invocationId,
    userContent,
  }: InvocationContext): AsyncGenerator<Event, void, void> {
    const parts = userContent?.parts ?? [];
    yield createEvent({ invocationId, author: this.name, content: { role: 'model', parts } });
  }
}
