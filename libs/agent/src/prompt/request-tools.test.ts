import { expect, it } from 'vitest';
import type { LlmRequest } from '../base/base-llm.ts';
import type { ToolProcessLlmRequest } from '../base/base-tool.ts';
import { LlmAgent, type LlmAgentConfig } from '../flow/llm-agent.ts';
import { brief, callsTo, chat, crashingChat, OwnLlm, says } from '../harness.fixture.ts';
import { FunctionTool, type FunctionToolOptions } from '../tools/function-tool.ts';

const made: string[] = [];
const tool = (name: string, more: Partial<FunctionToolOptions<undefined>> = {}) =>
  new FunctionTool({ name, description: name, execute: () => void made.push(name), ...more });
const declaredIn = ({ config }: LlmRequest) =>
  (config.tools ?? []).flatMap((entry) =>
    'functionDeclarations' in entry ? (entry.functionDeclarations ?? []).map(({ name }) => name) : [],
  );

/** Makes an agent whose model calls a tool, and then answers. */
function callerOf(name: string, config: Partial<LlmAgentConfig> = {}) {
  made.length = 0;
  const model = new OwnLlm(({ contents }) => [
    contents.at(-1)?.parts?.[0]?.functionResponse ? says('done') : callsTo(name),
  ]);
  const tools = [tool('read'), tool('pay')];
  return { model, agent: new LlmAgent({ name: 'root', model, tools, ...config }) };
}

const none = 'root: gets {"error":"there is no tool \\"pay\\"; the tools are: read"}';

it.each<[string, (request: LlmRequest) => void]>([
  ['toolsDict', (request) => void delete request.toolsDict.pay],
  [
    'another toolsDict',
    (request) => {
      const { pay: _pay, ...rest } = request.toolsDict;
      request.toolsDict = rest;
    },
  ],
  [
    'the declarations',
    ({ config }) => {
      config.tools = [{ functionDeclarations: [{ name: 'read' }] }];
    },
  ],
])('a tool that a callback removes is neither declared nor called: from %s', async (_, remove) => {
  const { model, agent } = callerOf('pay', {
    beforeModelCallback: ({ request }) => {
      remove(request);
      return undefined;
    },
  });
  const events = await (await chat(agent)).say('go');
  expect(events.map(brief)).toEqual(['root: calls pay', none, 'root: done']);
  expect([model.requests.map(declaredIn), made]).toEqual([[['read'], ['read']], []]);
});

it('a removed tool is not called by another process either', async () => {
  const { agent } = callerOf('pay', {
    beforeModelCallback: ({ request }) => {
      delete request.toolsDict.pay;
      return undefined;
    },
  });
  const events = await (await crashingChat(agent)).say('go');
  expect(events.map(brief).slice(-2)).toEqual([none, 'root: done']);
  expect(made).toEqual([]);
});

it('tools that a callback adds or replaces are declared and called', async () => {
  const { model, agent } = callerOf('extra', {
    beforeModelCallback: ({ request }) => {
      request.toolsDict.extra = tool('extra');
      request.toolsDict.read = tool('read', { description: 'reads better' });
      return undefined;
    },
  });
  await (await chat(agent)).say('go');
  expect(made).toEqual(['extra']);
  const [first] = model.requests;
  expect(first && declaredIn(first).toSorted()).toEqual(['extra', 'pay', 'read']);
  expect(JSON.stringify(first?.config.tools)).toContain('reads better');
});

class Opening extends FunctionTool {
  override async processLlmRequest(request: ToolProcessLlmRequest): Promise<void> {
    await super.processLlmRequest(request);
    await tool('extra', { requireConfirmation: true }).processLlmRequest(request);
  }
}

it('a tool that another tool adds to the request is called, also when a person answers later', async () => {
  const opening = new Opening({ name: 'open', description: 'opens', execute: () => 'open' });
  const { agent } = callerOf('extra', { tools: [opening] });
  const { say, answer } = await chat(agent);
  const question = (await say('go')).at(-1)?.longRunningToolIds?.[0];
  const events = await answer(question, { confirmed: true }, { name: 'adk_request_confirmation' });
  expect(events.map(brief).at(-1)).toBe('root: done');
  expect(made).toEqual(['extra']);
});

it('a declaration without a tool is left to a client that makes the calls', async () => {
  const declare = ({ request }: { request: LlmRequest }) => {
    request.config.tools = [...(request.config.tools ?? []), { functionDeclarations: [{ name: 'show' }] }];
    return undefined;
  };
  const { model, agent } = callerOf('show', { beforeModelCallback: declare });
  const { say } = await chat(agent);
  expect((await say('go', { pauseOnToolCalls: true })).map(brief)).toEqual(['root: calls show']);
  expect(model.requests.map(declaredIn)).toEqual([['read', 'pay', 'show']]);
  const alone = callerOf('show', { beforeModelCallback: declare });
  expect((await (await chat(alone.agent)).say('go')).map(brief)[1]).toMatch(/there is no tool/);
  expect(alone.model.requests.map(declaredIn)).toEqual([
    ['read', 'pay'],
    ['read', 'pay'],
  ]);
});
