import { describe, expect, it } from 'vitest';
import { brief, chat, scriptedModel } from '../harness.fixture.ts';
import {
  AgentTool,
  App,
  AuthCredentialTypes,
  createEvent,
  createResumabilityConfig,
  ENTERPRISE_WEB_SEARCH,
  FunctionTool,
  findMatchingFunctionCall,
  Gemini,
  GOOGLE_MAPS_GROUNDING,
  GOOGLE_SEARCH,
  getPendingUserInputRequests,
  getUserChoiceTool,
  getUserInputRequests,
  hasThoughts,
  hasTrailingCodeExecutionResult,
  InMemoryRunner,
  isAgentTool,
  isApp,
  isBaseAgent,
  isBaseLlm,
  isBaseTool,
  isBaseToolset,
  isFunctionTool,
  isLlmAgent,
  isLoopAgent,
  isParallelAgent,
  isRoutedAgent,
  isRunner,
  isSequentialAgent,
  LlmAgent,
  LoopAgent,
  ParallelAgent,
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  REQUEST_INPUT_FUNCTION_CALL_NAME,
  RoutedAgent,
  requiresUserInput,
  SequentialAgent,
  ToolConfirmation,
  URL_CONTEXT,
} from '../index.ts';

describe('the tools that Google runs', () => {
  it('are named in the request beside the functions, and are not called here', async () => {
    const bodies: unknown[] = [];
    const fetch = async (_url: unknown, init?: { body?: unknown }) => {
      bodies.push(JSON.parse(String(init?.body)));
      return Response.json({ candidates: [{ content: { parts: [{ text: 'found' }] } }] });
    };
    const client = { httpOptions: { fetch: fetch as typeof globalThis.fetch } };
    const llm = new Gemini({ apiKey: 'key', client });
    const own = new FunctionTool({ name: 'now', description: '', execute: () => 1 });
    const tools = [GOOGLE_SEARCH, URL_CONTEXT, GOOGLE_MAPS_GROUNDING, own];
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm, tools }));
    expect((await say('hi')).map(brief)).toEqual(['root: found']);
    expect(bodies[0]).toMatchObject({
      tools: [
        { googleSearch: {} },
        { urlContext: {} },
        { googleMaps: {} },
        { functionDeclarations: [{ name: 'now' }] },
      ],
    });
    expect(await GOOGLE_SEARCH.runAsync()).toEqual({
      error: "google_search is run by the model's service, not called",
    });
  });

  it('are refused when the service lacks them, as the enterprise search does for a Gemini key', async () => {
    const { llm } = await scriptedModel({ text: 'never' });
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [ENTERPRISE_WEB_SEARCH] }));
    expect((await say('hi'))[0]).toMatchObject({
      errorMessage: expect.stringContaining('enterpriseWebSearch'),
    });
  });
});

describe('questions to people', () => {
  it('are listed until they are answered', async () => {
    const { llm } = await scriptedModel(
      {
        calls: [
          { name: 'pay', args: { sum: 1 } },
          { name: 'ask', args: {} },
        ],
      },
      { text: 'done' },
    );
    const pay = new FunctionTool({
      name: 'pay',
      description: '',
      requireConfirmation: true,
      execute: () => 'paid',
    });
    const ask = new FunctionTool({
      name: 'ask',
      description: '',
      execute(_input, context) {
        if (context?.inputResponse === undefined)
          context?.requestInput({ message: 'How?', payload: { a: 1 }, responseSchema: { type: 'string' } });
        return context?.inputResponse;
      },
    });
    const { say, answer, stored } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [pay, ask] }));
    const events = await say('go');
    const [confirmation, input] = getPendingUserInputRequests((await stored()).events);
    expect(confirmation).toMatchObject({
      kind: 'confirmation',
      functionCallName: REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
      author: 'root',
      message: expect.stringContaining('pay'),
      toolName: 'pay',
    });
    expect(input).toMatchObject({
      kind: 'input',
      functionCallName: REQUEST_INPUT_FUNCTION_CALL_NAME,
      message: 'How?',
      payload: { a: 1 },
      responseSchema: { type: 'string' },
    });
    expect(events.filter(requiresUserInput).flatMap(getUserInputRequests)).toHaveLength(2);
    await answer(confirmation?.interruptId, { ...new ToolConfirmation({ confirmed: true }) });
    const left = getPendingUserInputRequests((await stored()).events);
    expect(left.map(({ interruptId }) => interruptId)).toEqual([input?.interruptId]);
    expect((await answer(input?.interruptId, { result: 'so' })).map(brief).at(-1)).toBe('root: done');
    expect(getPendingUserInputRequests((await stored()).events)).toEqual([]);
  });

  it('may be choices, which wait for a function response', async () => {
    const call = { name: 'get_user_choice', args: { options: ['tea', 'coffee'] } };
    const { llm } = await scriptedModel({ calls: [call] }, { text: 'Tea then.' });
    const { say, answer } = await chat(
      new LlmAgent({ name: 'root', model: llm, tools: [getUserChoiceTool] }),
    );
    const [event] = await say('a drink');
    expect(event?.longRunningToolIds).toHaveLength(1);
    const chosen = await answer(event?.longRunningToolIds?.[0], { choice: 'tea' }, { name: call.name });
    expect(chosen.map(brief)).toEqual(['root: Tea then.']);
  });

  it('accept only true or false', () => {
    expect(new ToolConfirmation({ confirmed: false, payload: 1 })).toEqual({
      hint: '',
      confirmed: false,
      payload: 1,
    });
    expect(() => Reflect.construct(ToolConfirmation, [{ confirmed: 'yes' }])).toThrow('true or false');
  });
});

describe('type guards', () => {
  const agent = new LlmAgent({ name: 'a' });
  const tool = new FunctionTool({ name: 't', description: '', execute: () => 1 });
  it.each([
    [isBaseAgent, agent],
    [isLlmAgent, agent],
    [isLoopAgent, new LoopAgent({ name: 'l', subAgents: [new LlmAgent({ name: 'b' })] })],
    [isParallelAgent, new ParallelAgent({ name: 'p' })],
    [isSequentialAgent, new SequentialAgent({ name: 's' })],
    [isRoutedAgent, new RoutedAgent({ name: 'r', agents: [new LlmAgent({ name: 'c' })] })],
    [isBaseTool, tool],
    [isFunctionTool, tool],
    [isAgentTool, new AgentTool({ agent })],
    [isBaseLlm, new Gemini()],
    [isRunner, new InMemoryRunner({ agent })],
    [isApp, new App({ name: 'app', rootAgent: agent })],
  ])('distinguish it from others: %o', (is, value) => {
    expect(is(value)).toBe(true);
    expect(is({ ...value })).toBe(false);
    expect(is(undefined)).toBe(false);
    expect(isBaseToolset(value)).toBe(false);
  });
});

describe('questions about events', () => {
  const call = createEvent({ content: { parts: [{ functionCall: { id: '1', name: 'f' } }] } });
  const answer = createEvent({ content: { parts: [{ functionResponse: { id: '1', response: {} } }] } });
  it('find the call that the last event answers', () => {
    expect(findMatchingFunctionCall([call, answer])).toBe(call);
    expect(findMatchingFunctionCall([answer, call])).toBeUndefined();
    expect(findMatchingFunctionCall([])).toBeUndefined();
  });

  it('tell thoughts and results of code', () => {
    const event = createEvent({
      content: { parts: [{ text: 'hm', thought: true }, { codeExecutionResult: {} }] },
    });
    expect([hasThoughts(event), hasTrailingCodeExecutionResult(event)]).toEqual([true, true]);
    expect([hasThoughts(call), hasTrailingCodeExecutionResult(call)]).toEqual([false, false]);
  });
});

it("exports ADK's names for kinds of credentials and for resumability", () => {
  expect(AuthCredentialTypes.OPEN_ID_CONNECT).toBe('openIdConnect');
  expect(createResumabilityConfig()).toEqual({ isResumable: false });
});
