import type { InvocationContext } from '@agentmesh/agent';
import { BaseAgent, createEvent, LlmAgent } from '@agentmesh/agent';
import { connectMesh, serveAgent } from '@agentmesh/mesh';
import type { Event } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import { connect } from '@nats-io/transport-node';
import { InstantLlm, stockPrice } from './instant-agent.ts';

/** An agent that returns the text of the message. It shows the cost of an ask without a model. */
class EchoAgent extends BaseAgent {
  protected override async *runAsyncImpl({
    invocationId,
    userContent,
  }: InvocationContext): AsyncGenerator<Event, void, void> {
    const parts = userContent?.parts ?? [];
    yield createEvent({ invocationId, author: this.name, content: { role: 'model', parts } });
  }
}

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
