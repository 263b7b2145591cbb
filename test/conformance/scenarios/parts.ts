import type { BaseTool, BaseToolset, Context } from '@agentmesh/agent';
import type { Content } from '@google/genai';
import type { Kit, SeenEvent } from '../kit.ts';

type Args = Record<string, unknown>;
type Execute = (args: Args, context: Context) => unknown;

interface LlmOptions {
  /** Parts of the scenario by name; what is made here lives in the agent's own process. */
  tools?: (string | ((kit: Kit) => BaseTool | BaseToolset))[];
  subAgents?: string[];
  [option: string]: unknown;
}

/** An agent with a model of its own. Where models shall be told of one another, give descriptions in marks. */
export const llm =
  (name: string, { tools = [], subAgents = [], ...more }: LlmOptions = {}) =>
  (kit: Kit) =>
    new kit.LlmAgent({
      name,
      model: kit.model(name),
      description: `Agent ${name}.`,
      tools: tools.map((each) => (typeof each === 'string' ? kit.tool(each) : each(kit))),
      subAgents: subAgents.map(kit.agent),
      ...more,
    });

/** An agent as a tool. */
export const asked =
  (name: string, more: object = {}) =>
  (kit: Kit) =>
    new kit.AgentTool({ agent: kit.agent(name), ...more });

export const tool = (name: string, execute: Execute) => (kit: Kit) =>
  new kit.FunctionTool({ name, description: `does ${name}`, execute: execute as never });

export const longRunning = (name: string, execute: Execute) => (kit: Kit) =>
  new kit.LongRunningFunctionTool({ name, description: `does ${name}`, execute: execute as never });

export const sequence =
  (name: string, ...subAgents: string[]) =>
  (kit: Kit) =>
    new kit.SequentialAgent({ name, subAgents: subAgents.map(kit.agent) });

export const parallel =
  (name: string, ...subAgents: string[]) =>
  (kit: Kit) =>
    new kit.ParallelAgent({ name, subAgents: subAgents.map(kit.agent) });

export const loop =
  (name: string, maxIterations: number, ...subAgents: string[]) =>
  (kit: Kit) =>
    new kit.LoopAgent({ name, maxIterations, subAgents: subAgents.map(kit.agent) });

/** A model's turn that calls one tool. */
export const call = (name: string, args: Args = {}) => ({ calls: [{ name, args }] });

/** A model's turn that calls several. */
export const calls = (...names: string[]) => ({ calls: names.map((name) => ({ name, args: {} })) });

export const say = (text: string) => ({ text });

export const to = (agentName: string) => call('transfer_to_agent', { agentName });

/** A user's turn that answers the first call of each of these tools. */
export const answer =
  (responses: Record<string, Args>, more: object = {}) =>
  (events: readonly SeenEvent[]): Content => ({
    role: 'user',
    parts: Object.entries(responses).map(([name, response]) => ({
      functionResponse: { id: callId(events, name), name, response, ...more },
    })),
  });

function callId(events: readonly SeenEvent[], name: string): string {
  const made = events.flatMap(({ content }) => content?.parts ?? []);
  return made.find(({ functionCall }) => functionCall?.name === name)?.functionCall?.id ?? '';
}
