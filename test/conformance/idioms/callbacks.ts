import {
  type AfterAgentCallback,
  type AfterModelCallback,
  type AfterToolCallback,
  BasePlugin,
  type BaseTool,
  type BeforeAgentCallback,
  type BeforeModelCallback,
  type BeforeToolCallback,
  type Context,
  type Event,
  type InvocationContext,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  type SingleAfterModelCallback,
  type SingleBeforeToolCallback,
} from '@google/adk';
import type { Content } from '@google/genai';

const beforeAgent: BeforeAgentCallback = async (context) => {
  context.state.set('temp:started', Date.now());
  return context.state.get('blocked') ? { role: 'model', parts: [{ text: 'No.' }] } : undefined;
};
const afterAgent: AfterAgentCallback = (context) => void console.log(context.agentName) as undefined;

const beforeModel: BeforeModelCallback = ({ context, request }): LlmResponse | undefined => {
  const last = request.contents.at(-1)?.parts?.[0]?.text ?? '';
  if (!/secret/.test(last)) return undefined;
  return { content: { role: 'model', parts: [{ text: `not in ${context.sessionId}` }] } };
};

const afterModel: AfterModelCallback = async ({ response }) => {
  const text = response.content?.parts?.map((part) => part.text ?? '').join('');
  return text?.includes('joke')
    ? { ...response, content: { role: 'model', parts: [{ text: 'No jokes.' }] } }
    : undefined;
};

const beforeTool: BeforeToolCallback = ({ tool, args, context }) => {
  if (tool.name === 'pay' && Number(args.amount) > 5) return { error: `too much in ${context.invocationId}` };
  args.checked = true;
  return undefined;
};

const afterTool: AfterToolCallback = async ({ tool, response }) =>
  tool.name === 'get_weather' ? { ...response, checked: response.status === 'success' } : undefined;

const second: SingleAfterModelCallback = ({ response }: { context: Context; response: LlmResponse }) =>
  response;
const third: SingleBeforeToolCallback = () => undefined;

export const agent = new LlmAgent({
  name: 'guarded',
  model: 'gemini-2.5-flash',
  beforeAgentCallback: beforeAgent,
  afterAgentCallback: [afterAgent as never],
  beforeModelCallback: beforeModel,
  afterModelCallback: Array.isArray(afterModel) ? afterModel : [afterModel, second],
  beforeToolCallback: Array.isArray(beforeTool) ? beforeTool : [beforeTool, third],
  afterToolCallback: async ({
    tool,
    args,
    context,
    response,
  }: {
    tool: BaseTool;
    args: Record<string, unknown>;
    context: Context;
    response: Record<string, unknown>;
  }) => ({ tool: tool.name, args, session: context.sessionId, response }),
});

export const typed = new LlmAgent({
  name: 'typed',
  model: 'gemini-2.5-flash',
  beforeModelCallback: ({ context, request }: { context: Context; request: LlmRequest }) => {
    context.state.set('asked', request.contents.length);
    return undefined;
  },
  afterModelCallback: ({ response }: { response: LlmResponse }) => response,
  afterToolCallback: afterTool,
});

const counts: number = typed.canonicalBeforeModelCallbacks.length + typed.canonicalAfterToolCallbacks.length;
console.log(counts, typed.afterModelCallback, typed.beforeToolCallback);

export class Counting extends BasePlugin {
  calls = 0;

  constructor() {
    super('counting');
  }

  override async onUserMessageCallback({
    userMessage,
  }: {
    invocationContext: InvocationContext;
    userMessage: Content;
  }): Promise<Content | undefined> {
    return userMessage.parts?.length ? undefined : { role: 'user', parts: [{ text: '(nothing)' }] };
  }

  override async beforeModelCallback({
    callbackContext,
    llmRequest,
  }: {
    callbackContext: Context;
    llmRequest: LlmRequest;
  }): Promise<LlmResponse | undefined> {
    this.calls += 1;
    console.log(callbackContext.agentName, llmRequest.model);
    return undefined;
  }

  override async afterToolCallback(params: {
    tool: BaseTool;
    toolArgs: Record<string, unknown>;
    toolContext: Context;
    result: Record<string, unknown>;
  }): Promise<Record<string, unknown> | undefined> {
    return params.result.error ? { error: 'it failed' } : undefined;
  }

  override async onEventCallback({
    event,
  }: {
    invocationContext: InvocationContext;
    event: Event;
  }): Promise<Event | undefined> {
    return event;
  }
}
