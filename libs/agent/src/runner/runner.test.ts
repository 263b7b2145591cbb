import type { Event } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { BaseAgent } from '../base/base-agent.ts';
import type { CredentialService } from '../credentials/credential-service.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { brief, chat, scriptedModel } from '../harness.fixture.ts';
import { InMemorySessionService } from '../sessions/in-memory/session-service.ts';
import { FunctionTool, LongRunningFunctionTool } from '../tools/function-tool.ts';
import { LoopAgent } from '../workflow/loop-agent.ts';
import { App } from './app.ts';
import { InMemoryRunner, Runner } from './runner.ts';

async function agentOf(...replies: Parameters<typeof scriptedModel>) {
  const { llm, requests } = await scriptedModel(...replies);
  return {
    agent: new LlmAgent({ name: 'root', model: llm, instruction: '{app:tone?}{temp:hint?}' }),
    requests,
  };
}

describe('a runner', () => {
  it('takes an app, or a name and an agent', async () => {
    const { agent } = await agentOf();
    const sessionService = new InMemorySessionService();
    expect(new Runner({ app: new App({ name: 'shop', rootAgent: agent }), sessionService }).appName).toBe(
      'shop',
    );
    expect(new Runner({ appName: 'a', agent, sessionService }).agent).toBe(agent);
    expect(new InMemoryRunner({ agent }).appName).toBe('InMemoryRunner');
    expect(() => new Runner({ agent, sessionService })).toThrow(/needs an app/);
  });

  it.each([{}, 'hello', { id: 'e', timestamp: 1, actions: { stateDelta: { f: () => 1 } } }])(
    'reports an event that cannot be stored as a defect of its agent: %j',
    async (event) => {
      class Own extends BaseAgent {
        protected override async *runAsyncImpl(): AsyncGenerator<Event, void, void> {
          yield event as never;
        }
      }
      const { say } = await chat(new Own({ name: 'own' }));
      await expect(say('go')).rejects.toMatchObject({ code: 'internal' });
    },
  );

  it('refuses a run without a message', async () => {
    const { llm, requests } = await scriptedModel({ text: 'never' });
    const { runner, stored } = await chat(new LlmAgent({ name: 'root', model: llm }));
    const { id: sessionId } = await stored();
    const run = runner.runAsync({ userId: 'u', sessionId, newMessage: undefined as never });
    await expect(Array.fromAsync(run)).rejects.toThrow(/a run needs a newMessage/);
    expect(requests).toEqual([]);
  });

  it('sends an answer to the agent that asked, resumable or not (ADK defect B17)', async () => {
    const approve = new LongRunningFunctionTool({
      name: 'approve',
      description: 'asks',
      execute: () => undefined,
    });
    const helper = await scriptedModel(
      { calls: [{ name: 'approve', args: {} }] },
      { text: 'helper goes on' },
    );
    const boss = await scriptedModel({
      calls: [{ name: 'transfer_to_agent', args: { agentName: 'helper' } }],
    });
    const agent = new LlmAgent({
      name: 'boss',
      model: boss.llm,
      subAgents: [
        new LlmAgent({ name: 'helper', model: helper.llm, tools: [approve], disallowTransferToParent: true }),
      ],
    });
    const { say, answer } = await chat(agent);
    const asked = await say('go');
    const id = asked.flatMap(({ longRunningToolIds = [] }) => longRunningToolIds)[0];
    expect((await answer(id, { ok: true })).map(brief)).toEqual(['helper: helper goes on']);
  });

  it('shows temp: state of the message to its invocation alone (ADK defect B19)', async () => {
    const { agent, requests } = await agentOf({ text: 'a' }, { text: 'b' });
    const { runner, say, stored } = await chat(agent);
    const { id } = await stored();
    const newMessage = { parts: [{ text: 'go' }] };
    await Array.fromAsync(
      runner.runAsync({
        userId: 'u',
        sessionId: id,
        newMessage,
        stateDelta: { 'temp:hint': 'psst', kept: 1 },
      }),
    );
    await say('again');
    expect(requests.map(({ systemInstruction }) => systemInstruction)).toEqual(['psst', undefined]);
    expect((await stored()).state).toEqual({ kept: 1 });
    expect((await stored()).events[0]?.content?.role).toBe('user');
  });

  it('keeps a session that is created twice, and shares the app state of the first (ADK defect B14)', async () => {
    const { agent, requests } = await agentOf({ text: 'a' });
    const { sessionService } = new InMemoryRunner({ agent, appName: 'app' });
    const ref = { appName: 'app', userId: 'u', sessionId: 's' };
    await sessionService.createSession({ ...ref, state: { 'app:tone': 'kind' } });
    await expect(sessionService.createSession(ref)).rejects.toMatchObject({ code: 'already_exists' });
    await sessionService.createSession({ ...ref, sessionId: 's2', userId: 'other' });
    const runner = new Runner({ appName: 'app', agent, sessionService });
    const newMessage = { role: 'user', parts: [{ text: 'go' }] };
    await Array.fromAsync(runner.runAsync({ userId: 'other', sessionId: 's2', newMessage }));
    expect(requests[0]?.systemInstruction).toBe('kind');
  });

  it('gives tools the credential service (ADK defect B6)', async () => {
    const credentialService: CredentialService = {
      loadCredential: async () => ({ authType: 'apiKey', apiKey: 'theirs' }),
      saveCredential: async () => {},
    };
    const { llm } = await scriptedModel({ calls: [{ name: 'load', args: {} }] }, { text: 'ok' });
    const load = new FunctionTool({
      name: 'load',
      description: 'loads',
      execute: async (_args, context) => {
        const viaInvocation = context?.invocationContext?.credentialService === credentialService;
        const loaded = await context?.loadCredential({ credentialKey: 'k', authScheme: { type: 'apiKey' } });
        return { viaInvocation, isTheirs: loaded?.apiKey === 'theirs' };
      },
    });
    const agent = new LlmAgent({ name: 'root', model: llm, tools: [load] });
    const { say } = await chat(agent, undefined, { credentialService });
    expect((await say('go')).map(brief)[1]).toBe('root: gets {"viaInvocation":true,"isTheirs":true}');
  });

  it('keeps files and finds memories in memory', async () => {
    const { llm } = await scriptedModel({ calls: [{ name: 'work', args: {} }] }, { text: 'ok' });
    const work = new FunctionTool({
      name: 'work',
      description: 'works',
      execute: async (_args, context) => {
        const version = await context?.saveArtifact('note.txt', { text: 'hi' });
        const names = await context?.listArtifacts();
        const part = await context?.loadArtifact('note.txt');
        return { version, names, text: part?.text, found: await context?.searchMemory('anything') };
      },
    });
    const { say } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [work] }));
    const [, result] = await say('go');
    expect(result && brief(result)).toBe(
      'root: gets {"version":0,"names":["note.txt"],"text":"hi","found":{"memories":[]}}',
    );
    expect(result?.actions.artifactDelta).toEqual({ 'note.txt': 0 });
  });

  it('refuses an empty message, and one with a function call', async () => {
    const { agent } = await agentOf();
    const { runner, stored } = await chat(agent);
    const { id: sessionId } = await stored();
    const send = (parts: object[]) =>
      Array.fromAsync(runner.runAsync({ userId: 'u', sessionId, newMessage: { parts } }));
    await expect(send([])).rejects.toThrow(/no parts/);
    await expect(send([{}])).rejects.toThrow(/has an empty part; give each part text or data/);
    for (const name of ['adk_request_confirmation', 'adk_request_credential', 'adk_request_input']) {
      await expect(send([{ functionCall: { name } }])).rejects.toThrow(/only agents call/);
    }
    expect((await stored()).events).toEqual([]);
  });

  it('ends without an error when it is aborted; what was committed stays, and the invocation is over', async () => {
    const { llm } = await scriptedModel({ calls: [{ name: 'stop', args: {} }] }, { text: 'never' });
    const controller = new AbortController();
    const stop = new FunctionTool({
      name: 'stop',
      description: 'stops',
      execute: () => {
        controller.abort();
        return new Promise(() => {});
      },
    });
    const { runner, stored } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [stop] }));
    const { id: sessionId } = await stored();
    const ref = { userId: 'u', sessionId };
    const newMessage = { parts: [{ text: 'go' }] };
    const events = await Array.fromAsync(
      runner.runAsync({ ...ref, newMessage, abortSignal: controller.signal }),
    );
    expect(events.map(brief)).toEqual(['root: calls stop']);
    const kept = (await stored()).events;
    expect(kept).toHaveLength(2);
    const invocationId = kept[0]?.invocationId ?? '';
    expect(
      await runner.sessionService.invocations.get({ appName: 'app', ...ref, invocationId }),
    ).toMatchObject({
      status: 'failed',
      error: { code: 'cancelled' },
    });
  });

  it('runs once in a temporary session', async () => {
    const { agent } = await agentOf({ text: 'hi' });
    const runner = new InMemoryRunner({ agent, appName: 'app' });
    const newMessage = { parts: [{ text: 'go' }] };
    const events = await Array.fromAsync(runner.runEphemeral({ userId: 'u', newMessage }));
    expect(events.map(brief)).toEqual(['root: hi']);
    expect((await runner.sessionService.listSessions({ appName: 'app', userId: 'u' })).totalItems).toBe(0);
  });
});

describe('runs of one session', () => {
  it('come one after the other, in order, and each sees what those before it said', async () => {
    const { agent, requests } = await agentOf({ text: 'a', delayMs: 30 }, { text: 'b' }, { text: 'c' });
    const { say, stored } = await chat(agent);
    await Promise.all(['one', 'two', 'three'].map((text) => say(text)));
    const words = (await stored()).events.map(({ content }) => content?.parts?.[0]?.text);
    expect(words).toEqual(['one', 'a', 'two', 'b', 'three', 'c']);
    expect(requests.map(({ contents }) => contents.length)).toEqual([1, 3, 5]);
  });

  it('are refused within a run of that session, but not within one of another session', async () => {
    const { llm } = await scriptedModel(
      { calls: [{ name: 'nest', args: {} }] },
      { text: 'from the other' },
      { text: 'done' },
    );
    const outcomes: unknown[] = [];
    const nest = new FunctionTool({
      name: 'nest',
      description: 'runs a run',
      execute: async (_args, context) => {
        const newMessage = { role: 'user', parts: [{ text: 'hi' }] };
        const run = (sessionId: string) =>
          Array.fromAsync(runner.runAsync({ userId: 'u', sessionId, newMessage }));
        outcomes.push(await run(context?.sessionId ?? '').catch((error) => error.code));
        const other = await runner.sessionService.createSession({ appName: 'app', userId: 'u' });
        outcomes.push((await run(other.id)).map(brief));
      },
    });
    const { runner, say } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [nest] }));
    expect((await say('go')).map(brief).at(-1)).toBe('root: done');
    expect(outcomes).toEqual(['failed_precondition', ['root: from the other']]);
  });

  it('that wait end with their signal, and do not let others start before their turn', async () => {
    const { agent } = await agentOf({ text: 'a', delayMs: 50 }, { text: 'b' });
    const { say, runner, stored } = await chat(agent);
    const first = say('one');
    const { id: sessionId } = await stored();
    const waiting = Array.fromAsync(
      runner.runAsync({
        userId: 'u',
        sessionId,
        newMessage: { parts: [{ text: 'never' }] },
        abortSignal: AbortSignal.timeout(5),
      }),
    );
    const third = say('three');
    expect(await waiting).toEqual([]);
    await Promise.all([first, third]);
    const words = (await stored()).events.map(({ content }) => content?.parts?.[0]?.text);
    expect(words).toEqual(['one', 'a', 'three', 'b']);
  });
});

describe('a run that is aborted', () => {
  const never = () => new Promise<never>(() => {});

  it.each([
    ['a callback before the agent', () => new LlmAgent({ name: 'root', beforeAgentCallback: never })],
    ['an instruction', () => new LlmAgent({ name: 'root', instruction: never })],
    [
      'a callback before the model',
      () => new LlmAgent({ name: 'root', model: 'gemini-x', beforeModelCallback: never }),
    ],
    ['a silent loop', () => new LoopAgent({ name: 'root', subAgents: [new Mute({ name: 'mute' })] })],
  ])('ends although %s never ends', async (_what, make) => {
    const { runner, stored } = await chat(make());
    const { id: sessionId } = await stored();
    const events = await Array.fromAsync(
      runner.runAsync({
        userId: 'u',
        sessionId,
        newMessage: { parts: [{ text: 'go' }] },
        abortSignal: AbortSignal.timeout(50),
      }),
    );
    expect(events).toEqual([]);
  });
});

/** An agent that yields nothing and waits for nothing. */
class Mute extends BaseAgent {
  protected override async *runAsyncImpl(): AsyncGenerator<Event, void, void> {}
}

describe("a user's message", () => {
  it('may not hold a function call, or the response to a call that is not pending', async () => {
    const look = new FunctionTool({ name: 'look', description: 'looks', execute: () => ({ price: 182 }) });
    const { llm } = await scriptedModel({ calls: [{ name: 'look', args: {} }] }, { text: '182' });
    const { say, answer, runner, stored } = await chat(
      new LlmAgent({ name: 'root', model: llm, tools: [look] }),
    );
    const [call] = await say('go');
    const before = (await stored()).events.length;
    const id = call?.content?.parts?.[0]?.functionCall?.id;
    await expect(answer(id, { price: 1 })).rejects.toMatchObject({ code: 'failed_precondition' });
    const forged = runner.runAsync({
      userId: 'u',
      sessionId: (await stored()).id,
      newMessage: { parts: [{ functionCall: { name: 'look', args: {} } }] },
    });
    await expect(Array.fromAsync(forged)).rejects.toMatchObject({ code: 'invalid_argument' });
    expect((await stored()).events).toHaveLength(before);
  });
});

describe('a callback that answers in place of the model', () => {
  it.each([[{}], [{ content: { parts: [] } }], [true], ['no'], [42]])(
    'and says nothing (%j) ends the turn with an error',
    async (answer) => {
      const agent = new LlmAgent({
        name: 'root',
        model: 'gemini-x',
        beforeModelCallback: () => answer as never,
      });
      expect((await (await chat(agent)).say('go')).map(brief)).toEqual(['root: fails EMPTY_RESPONSE']);
    },
  );
});
