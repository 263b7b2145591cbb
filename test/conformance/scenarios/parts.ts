import type { BasePlugin, BaseTool, BaseToolset, Context, SingleAgentCallback } from '@agentmesh/agent';
import type { Content } from '@google/genai';
import type { Kit, SeenEvent } from '../kit.ts';

type Args = Record<string, unknown>;
type Execute = (args: Args, context: Context) => unknown;

interface LlmOptions {
  /**
   * The tools: names of other parts of the scenario, or functions that make a tool in the agent's own
   * process.
   */
  tools?: (string | ((kit: Kit) => BaseTool | BaseToolset))[];
  subAgents?: string[];
  [option: string]: unknown;
}

/** Makes an agent with its own model. Descriptions in marks are compared in the prompts of other agents. */
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

/** Makes a tool of an agent. */
export const asked =
  (name: string, more: object = {}) =>
  (kit: Kit) =>
    new kit.AgentTool({ agent: kit.agent(name), ...more });

export const tool =
  (name: string, execute: Execute, more: object = {}) =>
  (kit: Kit) =>
    new kit.FunctionTool({ name, description: `does ${name}`, execute: execute as never, ...more });

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

/** Makes an answer of a model that calls one tool. */
export const call = (name: string, args: Args = {}) => ({ calls: [{ name, args }] });

/** Makes an answer of a model that calls several tools. */
export const calls = (...names: string[]) => ({ calls: names.map((name) => ({ name, args: {} })) });

export const say = (text: string) => ({ text });

export const to = (agentName: string) => call('transfer_to_agent', { agentName });

/** Makes a message of the user that answers the first call of each of these tools. */
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

/** Makes a tool that a person must confirm, always or when the function returns true. */
export const gated =
  (
    name: string,
    execute: Execute,
    requireConfirmation: true | ((args: Args, context: Context) => unknown) = true,
  ) =>
  (kit: Kit) =>
    new kit.FunctionTool({
      name,
      description: `does ${name}`,
      requireConfirmation: requireConfirmation as never,
      execute: execute as never,
    });

/** Makes a message of the user that answers the nth requested confirmation. */
export const confirm =
  (response: unknown = { confirmed: true }, nth = 0) =>
  (events: readonly SeenEvent[]): Content => {
    const name = 'adk_request_confirmation';
    const made = events.flatMap(({ content }) => content?.parts ?? []);
    const asked = made.filter(({ functionCall }) => functionCall?.name === name);
    const id = asked[nth]?.functionCall?.id ?? '';
    return { role: 'user', parts: [{ functionResponse: { id, name, response: response as Args } }] };
  };

/** Makes a callback that notes its call in the state. */
export const note = (name: string) =>
  (({ state }) => {
    state.set('calls', [...(state.get<string[]>('calls') ?? []), name]);
    return undefined;
  }) satisfies SingleAgentCallback;

/** Makes the same callback for models and tools. */
export const noteIn =
  (name: string) =>
  ({ context }: { context: Context }) =>
    note(name)(context);

export const words = (text: string): Content => ({ role: 'model', parts: [{ text }] });

/** Makes a plugin with only these callbacks. */
export const plugin =
  (name: string, hooks: Partial<BasePlugin>) =>
  (kit: Kit): BasePlugin =>
    Object.assign(new (class extends kit.BasePlugin {})(name), hooks);

/** A tool that writes its arguments to the state. */
export const write = tool('write', (args, { state }) => {
  state.update(args);
  return { ok: true };
});

/** A tool that reads keys of the state. */
export const read = tool('read', ({ keys }, { state }) =>
  Object.fromEntries((keys as string[]).map((key) => [key, state.get(key) ?? 'none'])),
);
