import {
  AgentTool,
  App,
  BaseAgent,
  type BaseLlm,
  BaseTool,
  Gemini,
  LlmAgent,
  ParallelAgent,
} from '@agentmesh/agent';
import { agentManifest, remoteAgent, remoteTool, type ServiceManifest, toolManifest } from '@agentmesh/mesh';
import type { CountWork } from './effects.ts';
import { confirmedCounter, fileSaver, localCounter, longWork, remoteCounter } from './tools.ts';

/** The app whose root agent is the front agent. */
export const app = 'chaos_app';
/** The number of runs of one user that are at work at once: so few that many runs wait for the share. */
export const runsPerUser = 2;
export const agentNames = ['front_agent', 'middle_agent', 'back_agent'] as const;
export const toolNames = ['add_remote', 'long_work'] as const;
/** The tools whose calls are jobs. */
export const jobTools: readonly PartName[] = ['long_work'];
/** The name of an agent or a tool. Each of them is a service with replicas. */
export type PartName = (typeof agentNames)[number] | (typeof toolNames)[number];
export const partNames: readonly PartName[] = [...agentNames, ...toolNames];

/** The tools that count their calls. */
export const countingTools = ['add_local', 'add_remote', 'long_work'];
/** The tools among them whose results are kept by call id. */
export const onceTools = ['add_remote', 'long_work'];

/** A part of the mesh, with the members in which it can be made to fail. */
export interface Part {
  service: LlmAgent | BaseTool;
  models: BaseLlm[];
  tools: BaseTool[];
}

/**
 * Makes an agent or a tool. The front agent calls tools of its own process and of another process. It asks
 * the middle agent, which asks the back agent. It transfers to the middle agent, or to two agents that work
 * in parallel, one in its own process and one elsewhere. It also starts jobs, opens tickets, asks for
 * confirmations, and saves files.
 */
export function makePart(name: PartName, modelUrl: string, count: CountWork): Part {
  const models: BaseLlm[] = [];
  const modelOf = (agent: string) => {
    const model = new Gemini({ model: `gemini-${agent}`, apiKey: 'scripted', baseUrl: modelUrl });
    models.push(model);
    return model;
  };
  if (name === 'add_remote' || name === 'long_work') {
    const tool = name === 'add_remote' ? remoteCounter(name, count) : longWork(name, count);
    return { service: tool, models, tools: [tool] };
  }
  const remote = remoteTool('add_remote', { writes: ['user', 'app'] });
  const make = { front_agent: makeFront, middle_agent: makeMiddle, back_agent: makeBack }[name];
  const { agent, tools } = make(modelOf, remote, count);
  return { service: agent, models, tools: [remote, ...tools] };
}

/** Returns the manifests of the parts, from which the rights of their users of NATS and Redis follow. */
export function manifestsOf(parts: readonly PartName[]): ServiceManifest[] {
  return parts.map((name) => {
    const { service } = makePart(name, 'http://127.0.0.1:1', () => () => {});
    if (service instanceof BaseAgent)
      return agentManifest(name === 'front_agent' ? new App({ name: app, rootAgent: service }) : service);
    if (service instanceof BaseTool) return toolManifest(service);
    throw new Error(`${name} is neither an agent nor a tool`);
  });
}

type ModelOf = (agent: string) => BaseLlm;

function makeFront(modelOf: ModelOf, remote: BaseTool, count: CountWork) {
  const local = localCounter('add_local', count);
  const work = remoteTool('long_work', { writes: ['user', 'app'] });
  const confirmed = confirmedCounter('add_confirmed', count);
  const files = fileSaver('save_file');
  const ask = new AgentTool({ agent: remoteAgent('middle_agent') });
  const left = new LlmAgent({ name: 'left_agent', model: modelOf('left_agent'), tools: [local] });
  const agent = new LlmAgent({
    name: 'front_agent',
    model: modelOf('front_agent'),
    tools: [local, remote, work, confirmed, files, ask],
    subAgents: [
      remoteAgent('middle_agent'),
      new ParallelAgent({ name: 'fan_agent', subAgents: [left, remoteAgent('back_agent')] }),
    ],
  });
  return { agent, tools: [local, work, confirmed, files, ask] };
}

function makeMiddle(modelOf: ModelOf, remote: BaseTool) {
  const ask = new AgentTool({ agent: remoteAgent('back_agent') });
  const agent = new LlmAgent({
    name: 'middle_agent',
    description: 'Works on what the front agent hands over.',
    model: modelOf('middle_agent'),
    tools: [remote, ask],
    // The front agent must be the first to answer each message.
    disallowTransferToParent: true,
  });
  return { agent, tools: [ask] };
}

function makeBack(modelOf: ModelOf, remote: BaseTool) {
  const agent = new LlmAgent({
    name: 'back_agent',
    description: 'Works alone.',
    model: modelOf('back_agent'),
    tools: [remote],
    disallowTransferToParent: true,
  });
  return { agent, tools: [] };
}
