import { BaseLlm, FunctionTool, LlmAgent, type LlmRequest, type LlmResponse } from '@agentmesh/agent';
import { describe, expect, it } from 'vitest';
import { startRun } from '../client/start-run.ts';
import { brief, calls, memoryMesh, ScriptedLlm, says, untilWaiting } from '../harness.fixture.ts';
import { callService } from '../remote/call-service.ts';
import { remoteTool } from '../remote/remote-tool.ts';
import { serveAgent } from '../serve/serve-agent.ts';
import { serveTool } from '../serve/serve-tool.ts';
import { cancelInvocation } from './cancel-invocation.ts';

/** A model that answers with the user's last words, when the test tells it to. */
class SlowLlm extends BaseLlm {
  readonly #waiting: (() => void)[] = [];
  readonly seen: string[] = [];
  aborted = 0;

  constructor() {
    super({ model: 'slow' });
  }

  override async *generateContentAsync(
    request: LlmRequest,
    _stream?: boolean,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void> {
    const text = request.contents.at(-1)?.parts?.[0]?.text ?? '';
    this.seen.push(text);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    signal?.addEventListener('abort', () => {
      this.aborted += 1;
      reject(signal.reason);
    });
    await promise;
    yield { content: { role: 'model', parts: [{ text: `re: ${text}` }] } };
  }

  async answer(): Promise<void> {
    await expect.poll(() => this.#waiting.length).toBeGreaterThan(0);
    this.#waiting.shift()?.();
  }
}

/** Makes an agent with a slow model on two replicas, and a session. */
async function slowMesh() {
  const world = memoryMesh();
  const llm = new SlowLlm();
  for (let replica = 0; replica < 2; replica += 1) {
    const agent = new LlmAgent({ name: 'solo', model: llm });
    await serveAgent(await world.connect('agent_solo'), agent, { app: 'app' });
  }
  const { client, ref } = await world.chat('app');
  const start = async (text: string, whenBusy?: 'enqueue' | 'reject' | 'interrupt') => {
    const run = await startRun(client, {
      app: 'app',
      user: 'u',
      session: ref.sessionId,
      message: text,
      ...(whenBusy && { whenBusy }),
    });
    return { ...run, all: Array.fromAsync(run.events) };
  };
  const log = async () => (await world.sessions.getSession(ref))?.events.map(brief);
  return { world, llm, client, ref, start, log };
}

describe('runs of one session', () => {
  it('come one after the other, in the order in which they came, whichever replica has time', async () => {
    const { llm, start, log } = await slowMesh();
    const runs = [];
    for (const text of ['one', 'two', 'three']) {
      runs.push(await start(text));
      await expect.poll(() => llm.seen.length).toBe(1);
    }
    for (const run of runs) {
      await llm.answer();
      expect((await run.all).map(brief)).toHaveLength(1);
      expect((await run.end).status).toBe('completed');
    }
    expect(await log()).toEqual([
      'user: one',
      'solo: re: one',
      'user: two',
      'solo: re: two',
      'user: three',
      'solo: re: three',
    ]);
  });

  it('are refused instead of waiting on request, and leave the session unchanged', async () => {
    const { llm, start, log } = await slowMesh();
    const first = await start('one');
    await expect.poll(() => llm.seen).toEqual(['one']);
    const second = await start('two', 'reject');
    await second.all;
    expect(await second.end).toMatchObject({ status: 'failed', error: { code: 'resource_exhausted' } });
    await llm.answer();
    await first.all;
    expect(await log()).toEqual(['user: one', 'solo: re: one']);
  });

  it('may interrupt the present one, and come next', async () => {
    const { llm, start, log } = await slowMesh();
    const first = await start('one');
    await expect.poll(() => llm.seen).toEqual(['one']);
    const second = await start('two');
    const third = await start('three', 'interrupt');
    await first.all;
    expect(await first.end).toMatchObject({ status: 'failed', error: { code: 'cancelled' } });
    await llm.answer();
    await llm.answer();
    expect((await third.all).map(brief)).toEqual(['solo: re: three']);
    await llm.answer();
    expect((await second.all).map(brief)).toEqual(['solo: re: two']);
    expect(await log()).toEqual([
      'user: one',
      'solo: fails cancelled',
      'user: three',
      'solo: re: three',
      'user: two',
      'solo: re: two',
    ]);
  });

  it('end with an error when their session is deleted while they wait', async () => {
    const { world, llm, start, ref, client } = await slowMesh();
    const first = await start('one');
    await expect.poll(() => llm.seen).toEqual(['one']);
    const second = await start('two');
    await untilWaiting(client, ref, second);
    await world.sessions.deleteSession(ref);
    await llm.answer();
    await first.all;
    await second.all;
    expect(await second.end).toMatchObject({ status: 'failed', error: { code: 'not_found' } });
    // A user wanted the end of the run at work.
    expect(world.lines.filter((line) => line.includes(first.invocationId))).toEqual([]);
  });
});

describe('cancelling', () => {
  it('stops the model call at once and leaves an end that all watchers see', async () => {
    const { llm, client, start, ref, log } = await slowMesh();
    const run = await start('one');
    await expect.poll(() => llm.seen).toEqual(['one']);
    const record = await cancelInvocation(client, { ...ref, invocationId: run.invocationId }, 'enough');
    expect(record).toMatchObject({ status: 'running', cancelled: 'enough' });
    expect((await run.all).map(brief)).toEqual(['solo: fails cancelled']);
    expect(await run.end).toMatchObject({
      status: 'failed',
      error: { code: 'cancelled', message: 'enough' },
    });
    expect(llm.aborted).toBe(1);
    expect(await log()).toEqual(['user: one', 'solo: fails cancelled']);
    const again = await cancelInvocation(client, { ...ref, invocationId: run.invocationId }, 'more');
    expect(again.status).toBe('failed');
  });

  it('ends a run that waits for its turn, and lets the runs behind it go on', async () => {
    const { llm, client, start, ref } = await slowMesh();
    const first = await start('one');
    await expect.poll(() => llm.seen).toEqual(['one']);
    const second = await start('two');
    await untilWaiting(client, ref, second);
    const third = await start('three');
    await expect
      .poll(
        async () => (await cancelInvocation(client, { ...ref, invocationId: second.invocationId })).status,
      )
      .toBe('failed');
    await second.all;
    expect(await second.end).toMatchObject({ error: { code: 'cancelled' } });
    await llm.answer();
    await first.all;
    await llm.answer();
    expect((await third.all).map(brief)).toEqual(['solo: re: three']);
  });

  it('reaches a tool in another process', async () => {
    const world = memoryMesh();
    let aborted = false;
    const started = Promise.withResolvers<void>();
    const slow = new FunctionTool({
      name: 'slow',
      description: 'is slow',
      execute: (_args, context) =>
        new Promise((_resolve, reject) => {
          context?.abortSignal?.addEventListener('abort', () => {
            aborted = true;
            reject(new Error('stopped'));
          });
          started.resolve();
        }),
    });
    await serveTool(await world.connect('tool_slow'), slow);
    const agent = new LlmAgent({
      name: 'solo',
      model: new ScriptedLlm(calls('slow'), says('ok')),
      tools: [remoteTool('slow')],
    });
    await serveAgent(await world.connect('agent_solo'), agent, { app: 'app' });
    const { client, ref } = await world.chat('app');
    const run = await startRun(client, { app: 'app', user: 'u', session: ref.sessionId, message: 'go' });
    const seen = Array.fromAsync(run.events);
    await started.promise;
    await cancelInvocation(client, { ...ref, invocationId: run.invocationId });
    expect((await seen).map(brief)).toEqual(['solo: calls slow', 'solo: fails cancelled']);
    await expect.poll(() => aborted).toBe(true);
  });
});

describe('a tool in the process of its agent', () => {
  it('learns how often the run was begun, and has the same call id each time', async () => {
    const world = memoryMesh();
    const seen: [number | undefined, string | undefined][] = [];
    const serve = async () => {
      const mesh = await world.connect('agent_solo');
      const tool = new FunctionTool({
        name: 'pay',
        description: 'pays',
        execute: (_args, context) => {
          seen.push([context?.attempt, context?.functionCallId]);
          if (seen.length > 1) return { paid: true };
          world.hub.kill(mesh.bus);
          void serve();
          return new Promise(() => {});
        },
      });
      const model = seen.length === 0 ? new ScriptedLlm(calls('pay')) : new ScriptedLlm(says('paid'));
      await serveAgent(mesh, new LlmAgent({ name: 'solo', model, tools: [tool] }), { app: 'app' });
    };
    await serve();
    const { events } = await (await world.chat('app')).say('pay');
    expect(events.map(brief).at(-1)).toBe('solo: paid');
    const [first, second] = seen;
    expect([first?.[0], second?.[0]]).toEqual([1, 2]);
    expect(second?.[1]).toBe(first?.[1]);
  });
});

describe('a run that was published several times', () => {
  it('is worked on once, and its copies do not count as deaths', async () => {
    const world = memoryMesh();
    const { client, ref } = await world.chat('app');
    const asked = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const model = new ScriptedLlm(says('once'));
    const { generateContentAsync } = model;
    let models = 0;
    model.generateContentAsync = async function* (...args) {
      models += 1;
      asked.resolve();
      await go.promise;
      yield* generateContentAsync.apply(model, args);
    };
    await serveAgent(await world.connect('agent_solo'), new LlmAgent({ name: 'solo', model }), {
      app: 'app',
    });
    const command = { invocationId: 'e-1', app: 'app', user: 'u', session: ref.sessionId, message: 'go' };
    const publish = (n: number) =>
      client.bus.enqueue(client.subjects.agentRun('solo', command.session), command, {
        messageId: `copy-${n}`,
      });
    await publish(0);
    await asked.promise;
    for (let n = 1; n <= 9; n += 1) await publish(n);
    const invocation = { ...ref, invocationId: 'e-1' };
    await expect
      .poll(() =>
        world.sessions.leases.take(invocation, {
          run: '',
          whenBusy: 'enqueue',
          delivery: { part: 'hop:0', message: 'another copy' },
        }),
      )
      .toEqual({ state: 'duplicate' });
    go.resolve();
    await expect
      .poll(async () => (await world.sessions.invocations.get(invocation)).status)
      .toBe('completed');
    const log = await world.sessions.log.readEvents(ref);
    expect(log.map(({ event }) => brief(event))).toEqual(['user: go', 'solo: once']);
    expect(models).toBe(1);
    expect(world.lines).toEqual([]);
  });
});

describe('a run at which every process dies', () => {
  it('becomes a dead letter with its error, and all watchers get the end', async () => {
    const world = memoryMesh();
    const { client, ref } = await world.chat('app');
    let died = 0;
    const serve = async (): Promise<void> => {
      const mesh = await world.connect('agent_solo');
      const deadly = new ScriptedLlm(() => {
        died += 1;
        world.hub.kill(mesh.bus);
        void serve();
        throw new Error('dead');
      });
      await serveAgent(
        { ...mesh, sessions: untilDead(mesh.sessions, () => mesh.bus.status().connected) },
        new LlmAgent({ name: 'solo', model: deadly }),
        { app: 'app' },
      );
    };
    await serve();
    const run = await startRun(client, { app: 'app', user: 'u', session: ref.sessionId, message: 'die' });
    expect((await Array.fromAsync(run.events)).map(brief)).toEqual(['solo: fails internal']);
    expect((await run.end).error?.message).toContain('5 processes died at this run');
    expect(died).toBe(5);
    expect(world.hub.queued('mesh.v1.dead.agent.solo')).toBe(1);
  }, 20_000);
});

/** Wraps a store for a process that does nothing any more once it is dead. */
function untilDead<T extends object>(store: T, isAlive: () => boolean): T {
  return new Proxy(store, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value === 'object' && value !== null) return untilDead(value, isAlive);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => (isAlive() ? value.apply(target, args) : new Promise(() => {}));
    },
  });
}

describe('the ask of a program in a session', () => {
  it('is refused while a run is at work in the session, and holds back runs while it is at work', async () => {
    const { llm, client, ref, start, log } = await slowMesh();
    const ask = async (message: string) => {
      const target = { to: 'solo', kind: 'agent' as const };
      const callee = { subject: client.subjects.agentAsk('solo'), target, isKnown: () => true };
      const payload = { message, app: 'app', user: 'u', session: ref.sessionId };
      for await (const frame of callService(client, callee, payload, {}))
        if (frame.type === 'result') return frame.data;
      return undefined;
    };
    const run = await start('one');
    await expect.poll(() => llm.seen).toEqual(['one']);
    await expect(ask('two')).rejects.toMatchObject({ code: 'resource_exhausted' });
    await llm.answer();
    await run.all;
    const asked = ask('three');
    await expect.poll(() => llm.seen).toEqual(['one', 'three']);
    const waiting = await start('four');
    await untilWaiting(client, ref, waiting);
    await llm.answer();
    expect(await asked).toMatchObject({ text: 're: three' });
    await llm.answer();
    await waiting.all;
    expect(await log()).toEqual([
      'user: one',
      'solo: re: one',
      'user: three',
      'solo: re: three',
      'user: four',
      'solo: re: four',
    ]);
  });
});
