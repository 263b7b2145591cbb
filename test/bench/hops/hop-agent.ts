/**
 * The process of one agent in a row of agents, each in a process of its own. The first one streams tokens with the
 * times at which they were made; each further one passes on the answer of the one before it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { BaseLlm, LlmAgent, type LlmResponse, SequentialAgent } from '@agentmesh/agent';
import { connectMesh, remoteAgent, serveAgent } from '@agentmesh/mesh';
import { createLogger } from '@agentmesh/service';
import { connect, type Msg } from '@nats-io/transport-node';
import { appOf, gapMs, hopAgent, now, rawTokens, tokens } from './hops.ts';

const [natsUrl = '', redisUrl = '', number = '1'] = process.argv.slice(2);
const hop = Number(number);

class TokenLlm extends BaseLlm {
  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
    for (let token = 0; token < tokens; token += 1) {
      await delay(gapMs);
      yield { partial: true, content: { role: 'model', parts: [{ text: now() }] } };
    }
    yield { content: { role: 'model', parts: [{ text: 'the end' }] } };
  }
}

const name = hopAgent(hop);
const log = createLogger({ service: `agent_${name}`, replica: 'bench', level: 'warn' });
const mesh = await connectMesh({ service: `agent_${name}`, natsUrl, redisUrl, log });
const agent =
  hop === 1
    ? new LlmAgent({ name, model: new TokenLlm({ model: 'tokens' }) })
    : new SequentialAgent({ name, subAgents: [remoteAgent(hopAgent(hop - 1))] });
await serveAgent(mesh, agent, { app: appOf(hop) });
if (hop === 1) {
  const raw = await connect({ servers: natsUrl, noAsyncTraces: true });
  const answer = async (message: Msg) => {
    for (let token = 0; token < tokens; token += 1) {
      await delay(gapMs);
      message.respond(now());
    }
  };
  raw.subscribe(rawTokens, { callback: (_error, message) => void answer(message) });
  await raw.flush();
}
log.warn('started');
