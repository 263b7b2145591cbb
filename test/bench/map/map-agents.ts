/** The process of the agents and the tool of the map, each of which is called over NATS. */
import {
  AgentTool,
  type BaseAgent,
  BaseLlm,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  LongRunningFunctionTool,
  ParallelAgent,
} from '@agentmesh/agent';
import { connectMesh, remoteAgent, remoteTool, serveAgent, serveTool } from '@agentmesh/mesh';
import { createLogger } from '@agentmesh/service';
import { connect } from '@nats-io/transport-node';
import { stockPrice } from '../instant-agent.ts';
import { appOf, echo, jobTool, leaf, leaves, mapAgents, progresses } from './map-names.ts';

/** A model that calls the first tool of its agent once, and then answers. */
class OnceLlm extends BaseLlm {
  override async *generateContentAsync({
    contents,
    toolsDict,
  }: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    const [name] = Object.keys(toolsDict);
    const isCalled = contents.at(-1)?.parts?.some(({ functionResponse }) => functionResponse) ?? false;
    const call = { name: name ?? '', args: { request: 'hello', agentName: leaf(1), ticker: 'GOOG' } };
    yield name === undefined || isCalled
      ? { content: { role: 'model', parts: [{ text: 'done' }] } }
      : { content: { role: 'model', parts: [{ functionCall: call }] } };
  }
}

const model = new OnceLlm({ model: 'once' });
const asTool = (agent: string) => new AgentTool({ agent: remoteAgent(agent) });

const job = new LongRunningFunctionTool({
  name: jobTool,
  description: 'Works for a while and says how far it is.',
  async *execute() {
    for (let n = 1; n <= progresses; n += 1) yield { done: n };
    return { status: 'done' };
  },
});

const agents: Record<(typeof mapAgents)[number], () => BaseAgent> = {
  plain_agent: () => new LlmAgent({ name: 'plain_agent', model }),
  call_agent: () => new LlmAgent({ name: 'call_agent', model, tools: [remoteTool(stockPrice.name)] }),
  one_agent: () => new LlmAgent({ name: 'one_agent', model, tools: [asTool(leaf(1))] }),
  two_agent: () => new LlmAgent({ name: 'two_agent', model, tools: [asTool('one_agent')] }),
  three_agent: () => new LlmAgent({ name: 'three_agent', model, tools: [asTool('two_agent')] }),
  transfer_agent: () => new LlmAgent({ name: 'transfer_agent', model, subAgents: [remoteAgent(leaf(1))] }),
  parallel_agent: () =>
    new ParallelAgent({ name: 'parallel_agent', subAgents: leaves.map((name) => remoteAgent(name)) }),
  job_agent: () => new LlmAgent({ name: 'job_agent', model, tools: [remoteTool(jobTool)] }),
};

const [natsUrl = '', redisUrl = ''] = process.argv.slice(2);
const log = createLogger({ service: 'map', replica: 'bench', level: 'warn' });
const mesh = await connectMesh({ service: 'map', natsUrl, redisUrl, log });
for (const name of leaves) await serveAgent(mesh, new LlmAgent({ name, model }));
for (const name of mapAgents) await serveAgent(mesh, agents[name](), { app: appOf(name) });
await serveTool(mesh, stockPrice);
await serveTool(mesh, job);
const raw = await connect({ servers: natsUrl, noAsyncTraces: true });
raw.subscribe(echo, { callback: (_error, message) => void message.respond(message.data) });
await raw.flush();
log.warn('started');
