import {
  AgentTool,
  BaseTool,
  type BaseToolParams,
  BaseToolset,
  type Context,
  FunctionTool,
  GOOGLE_SEARCH,
  LlmAgent,
  LOAD_ARTIFACTS,
  LongRunningFunctionTool,
  type ReadonlyContext,
  type RunAsyncToolRequest,
  type ToolOptions,
  type ToolPredicate,
  type ToolProcessLlmRequest,
  URL_CONTEXT,
} from '@google/adk';
import { type FunctionDeclaration, type Schema, Type } from '@google/genai';
import { z } from 'zod';

const place = z.object({ city: z.string().describe('where'), unit: z.enum(['C', 'F']).default('C') });

const options: ToolOptions<typeof place> = {
  name: 'get_weather',
  description: 'Tells the weather.',
  parameters: place,
  execute: async ({ city, unit }, toolContext) => {
    toolContext?.state.set('last_city', city);
    return { status: 'success', report: `20 ${unit} in ${city}` };
  },
};
export const getWeather = new FunctionTool(options);

const schema: Schema = { type: Type.OBJECT, properties: { id: { type: Type.STRING } }, required: ['id'] };

export const order = new FunctionTool({
  name: 'order',
  description: 'Orders something.',
  parameters: schema,
  execute: (input: unknown) => ({ ordered: input }),
});

export const transfer = new FunctionTool({
  name: 'pay',
  description: 'Pays.',
  parameters: z.object({ amount: z.number() }),
  requireConfirmation: async ({ amount }) => amount > 100,
  async execute({ amount }, toolContext?: Context) {
    if (!toolContext) throw new Error('no context');
    const { actions, state, functionCallId, toolConfirmation } = toolContext;
    if (amount > 1000 && !toolConfirmation) {
      toolContext.requestConfirmation({ hint: 'That is much.', payload: { amount } });
      return { status: 'pending' };
    }
    const payload = toolConfirmation?.payload as { amount?: number } | undefined;
    state.set('user:paid', (state.get<number>('user:paid') ?? 0) + (payload?.amount ?? amount));
    actions.skipSummarization = true;
    actions.transferToAgent = 'billing';
    await toolContext.saveArtifact('receipt.txt', { text: `paid ${amount}` });
    const found = await toolContext.searchMemory('receipts');
    const files: string[] = await toolContext.listArtifacts();
    return { functionCallId, found: found.memories.length, files };
  },
});

export const approve = new LongRunningFunctionTool({
  name: 'ask_for_approval',
  description: 'Asks the manager.',
  parameters: z.object({ purpose: z.string() }),
  execute: ({ purpose }) => ({ status: 'pending', ticket: `t-${purpose}` }),
});

/** The parameters of a tool with its own class. */
const params: BaseToolParams = { name: 'clock', description: 'Tells the time.' };

export class ClockTool extends BaseTool {
  constructor() {
    super(params);
  }

  override _getDeclaration(): FunctionDeclaration {
    return { name: this.name, description: this.description, parameters: { type: Type.OBJECT } };
  }

  override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    return { zone: args.zone ?? 'UTC', agent: toolContext.agentName, now: Date.now() };
  }

  override async processLlmRequest(request: ToolProcessLlmRequest): Promise<void> {
    await super.processLlmRequest(request);
    request.llmRequest.contents.push({ role: 'user', parts: [{ text: `It is ${Date.now()}.` }] });
  }
}

export class Clocks extends BaseToolset {
  constructor(filter: ToolPredicate | string[] = []) {
    super(filter, 'time');
  }

  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    const tools = [new ClockTool()];
    return context ? tools.filter((tool) => this.isToolSelected(tool, context)) : tools;
  }

  override async close(): Promise<void> {}
}

const helper = new LlmAgent({ name: 'helper', model: 'gemini-2.5-flash' });
export const agent = new LlmAgent({
  name: 'shop',
  model: 'gemini-2.5-flash',
  tools: [
    getWeather,
    order,
    transfer,
    approve,
    new ClockTool(),
    new Clocks(['clock']),
    new AgentTool({ agent: helper, skipSummarization: true }),
    GOOGLE_SEARCH,
    URL_CONTEXT,
    LOAD_ARTIFACTS,
  ],
});
