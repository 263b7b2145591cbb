import type { Event } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import { describe, expect, it } from 'vitest';
import { BasePlugin } from '../base/base-plugin.ts';
import { brief, chat, runWithCrashes, scriptedModel } from '../harness.fixture.ts';
import { GlobalInstructionPlugin } from '../plugins/global-instruction-plugin.ts';
import { LoggingPlugin } from '../plugins/logging-plugin.ts';
import { App } from '../runner/app.ts';
import { InMemoryRunner } from '../runner/runner.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import { LlmAgent, type LlmAgentConfig } from './llm-agent.ts';

const say = (text: string): Content => ({ role: 'model', parts: [{ text }] });
const callWork = { calls: [{ name: 'work', args: { n: 1 } }] };

function workTool(run: () => unknown = () => ({ done: true })) {
  return new FunctionTool({ name: 'work', description: 'works', execute: run });
}

async function agentOf(replies: Parameters<typeof scriptedModel>, config: Partial<LlmAgentConfig> = {}) {
  const { llm, requests } = await scriptedModel(...replies);
  return { agent: new LlmAgent({ name: 'root', model: llm, tools: [workTool()], ...config }), requests };
}

describe('callbacks of an agent', () => {
  it('see every step in order', async () => {
    const order: string[] = [];
    const note = (what: string) => () => {
      order.push(what);
      return undefined;
    };
    const { agent } = await agentOf([callWork, { text: 'ok' }], {
      beforeAgentCallback: [note('before agent'), note('before agent too')],
      beforeModelCallback: note('before model'),
      afterModelCallback: note('after model'),
      beforeToolCallback: note('before tool'),
      afterToolCallback: note('after tool'),
      afterAgentCallback: note('after agent'),
    });
    await (await chat(agent)).say('go');
    expect(order).toEqual([
      'before agent',
      'before agent too',
      'before model',
      'after model',
      'before tool',
      'after tool',
      'before model',
      'after model',
      'after agent',
    ]);
  });

  it('are not called for the answer of a model that failed', async () => {
    const seen: unknown[] = [];
    const { agent } = await agentOf([{ error: { status: 400, message: 'no' } }, { text: 'ok' }], {
      afterModelCallback: ({ response }) => {
        seen.push(response.content?.parts?.[0]?.text);
        return undefined;
      },
    });
    const { say: tell } = await chat(agent);
    expect((await tell('one')).map(brief)).toEqual(['root: fails 400']);
    await tell('two');
    expect(seen).toEqual(['ok']);
  });

  it('may answer in place of the agent, and after it', async () => {
    const silent = await agentOf([], { beforeAgentCallback: () => say('not today') });
    expect((await (await chat(silent.agent)).say('go')).map(brief)).toEqual(['root: not today']);
    expect(silent.requests).toHaveLength(0);
    const { agent } = await agentOf([{ text: 'ok' }], { afterAgentCallback: () => say('bye') });
    expect((await (await chat(agent)).say('go')).map(brief)).toEqual(['root: ok', 'root: bye']);
  });

  it('commit the state that they write', async () => {
    const { agent } = await agentOf([{ text: 'ok' }], {
      beforeAgentCallback: (context) => context.state.set('a', 1) as undefined,
      beforeModelCallback: ({ context }) => context.state.set('m', 2) as undefined,
    });
    const { say: tell, stored } = await chat(agent);
    const events = await tell('go');
    expect(events.map(({ actions }) => actions.stateDelta)).toEqual([{ a: 1 }, { m: 2 }]);
    expect((await stored()).state).toEqual({ a: 1, m: 2 });
  });

  it("replace the model's call, its answer, and its failure", async () => {
    const instead = await agentOf([], {
      beforeModelCallback: [
        () => undefined,
        () => ({ content: say('cached') }),
        () => ({ content: say('no') }),
      ],
    });
    expect((await (await chat(instead.agent)).say('go', { maxLlmCalls: 1 })).map(brief)).toEqual([
      'root: cached',
    ]);
    const changed = await agentOf([{ text: 'rude' }], {
      afterModelCallback: () => ({ content: say('kind') }),
    });
    expect((await (await chat(changed.agent)).say('go')).map(brief)).toEqual(['root: kind']);
    const mended = await agentOf([{ error: { status: 500, message: 'down' } }], {
      onModelErrorCallback: ({ error }) => ({ content: say(`sorry: ${error.message.includes('down')}`) }),
    });
    expect((await (await chat(mended.agent)).say('go')).map(brief)).toEqual(['root: sorry: true']);
  });

  it("replace a tool's call, its result, and its failure", async () => {
    const results = async (config: Partial<LlmAgentConfig>) => {
      const { agent } = await agentOf([callWork, { text: 'ok' }], config);
      const [, event] = await (await chat(agent)).say('go');
      return event && brief(event);
    };
    expect(await results({ beforeToolCallback: ({ args }) => ({ cached: args.n }) })).toBe(
      'root: gets {"cached":1}',
    );
    expect(await results({ afterToolCallback: ({ response }) => ({ was: response.done }) })).toBe(
      'root: gets {"was":true}',
    );
    const broken = workTool(() => {
      throw new Error('boom');
    });
    expect(
      await results({ tools: [broken], onToolErrorCallback: ({ error }) => ({ sorry: error.message }) }),
    ).toBe('root: gets {"sorry":"boom"}');
  });

  it('are not called again after a crash when their event is in the log', async () => {
    let asked = 0;
    const { agent } = await agentOf([callWork, { text: 'ok' }], {
      beforeAgentCallback: (context) => context.state.set('asked', ++asked) as undefined,
      afterAgentCallback: () => say('bye'),
    });
    const events = await runWithCrashes(agent);
    expect(events.map(brief)).toEqual([
      'root: ',
      'root: calls work',
      'root: gets {"done":true}',
      'root: ok',
      'root: bye',
    ]);
    expect(asked).toBe(1);
  });
});

class Spy extends BasePlugin {
  readonly seen: string[] = [];

  override async onUserMessageCallback({ userMessage }: { userMessage: Content }) {
    this.seen.push('message');
    return { ...userMessage, parts: [{ text: 'changed' }] };
  }
  override async beforeRunCallback(): Promise<undefined> {
    this.seen.push('before run');
  }
  override async beforeAgentCallback(): Promise<undefined> {
    this.seen.push('before agent');
  }
  override async afterAgentCallback(): Promise<undefined> {
    this.seen.push('after agent');
  }
  override async beforeModelCallback(): Promise<undefined> {
    this.seen.push('before model');
  }
  override async afterModelCallback(): Promise<undefined> {
    this.seen.push('after model');
  }
  override async onEventCallback({ event }: { event: Event }) {
    this.seen.push('event');
    return { ...event, id: 'mine', customMetadata: { seen: true } };
  }
  override async afterRunCallback() {
    this.seen.push('after run');
  }
}

describe('plugins', () => {
  it('see the whole run in order, also around agents (ADK defect B5)', async () => {
    const { agent, requests } = await agentOf([{ text: 'ok' }], { beforeAgentCallback: () => undefined });
    const spy = new Spy('spy');
    const { say: tell } = await chat(agent, undefined, { plugins: [spy] });
    const [event] = await tell('go');
    expect(spy.seen).toEqual([
      'message',
      'before run',
      'before agent',
      'before model',
      'after model',
      'event',
      'after agent',
      'after run',
    ]);
    expect(requests[0]?.contents).toEqual([{ role: 'user', parts: [{ text: 'changed' }] }]);
    expect(event?.customMetadata).toEqual({ seen: true });
    expect(event?.id).not.toBe('mine');
  });

  it('are called before the agent, in order, until one decides', async () => {
    const asked: string[] = [];
    class Cache extends BasePlugin {
      override async beforeModelCallback() {
        asked.push(this.name);
        return this.name === 'two' ? { content: say('from a plugin') } : undefined;
      }
    }
    const { agent } = await agentOf([], {
      beforeModelCallback: () => {
        asked.push('agent');
        return undefined;
      },
    });
    const plugins = [new Cache('one'), new Cache('two'), new Cache('three')];
    const app = new App({ name: 'app', rootAgent: agent, plugins });
    const { say: tell } = await chat(agent, undefined, { app });
    expect((await tell('go')).map(brief)).toEqual(['root: from a plugin']);
    expect(asked).toEqual(['one', 'two']);
  });

  it('answer for all agents, select tools, replace errors, and end the run when they fail', async () => {
    class Closed extends BasePlugin {
      override async beforeRunCallback() {
        return say('closed');
      }
    }
    const closed = await agentOf([]);
    const events = await (await chat(closed.agent, undefined, { plugins: [new Closed('closed')] })).say('go');
    expect(events.map(brief)).toEqual(['model: closed']);

    class Picky extends BasePlugin {
      override async beforeToolSelection() {
        return {};
      }
      override async onModelErrorCallback() {
        return { content: say('mended') };
      }
    }
    const picky = await agentOf([{ error: { status: 500, message: 'down' } }]);
    const told = await (await chat(picky.agent, undefined, { plugins: [new Picky('picky')] })).say('go');
    expect(told.map(brief)).toEqual(['root: mended']);
    expect(picky.requests[0]?.tools).toEqual([]);

    class Broken extends BasePlugin {
      override async afterModelCallback(): Promise<undefined> {
        throw new Error('oops');
      }
    }
    const broken = await agentOf([{ text: 'ok' }]);
    const run = (await chat(broken.agent, undefined, { plugins: [new Broken('broken')] })).say('go');
    await expect(run).rejects.toThrow('plugin broken failed in afterModelCallback: oops');
  });

  it('of the framework give one instruction to all agents, and log', async () => {
    const lines: string[] = [];
    const { agent, requests } = await agentOf([callWork, { text: 'ok' }], { instruction: 'Be brief.' });
    const plugins = [
      new GlobalInstructionPlugin('Speak {lang}.'),
      new LoggingPlugin('log', (line) => lines.push(line)),
    ];
    await (await chat(agent, { lang: 'Latin' }, { plugins })).say('go');
    expect(requests[0]?.systemInstruction).toBe('Speak Latin.\n\nBe brief.');
    expect(lines.join('\n')).toMatch(/user: go\n.*asks gemini-test.*\n.*root: calls work\({"n":1}\)/);
  });

  it('and apps need unique names', () => {
    const agent = new LlmAgent({ name: 'root' });
    const twins = [new LoggingPlugin('log'), new LoggingPlugin('log')];
    expect(() => new InMemoryRunner({ agent, plugins: twins })).toThrow(/two plugins are called log/);
    expect(() => new App({ name: 'user', rootAgent: agent })).toThrow(/app name/);
  });
});
