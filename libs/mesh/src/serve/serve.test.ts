import { AgentTool, BaseAgent, FunctionTool, type InvocationContext, LlmAgent } from '@agentmesh/agent';
import { every, everySession, header, type InvocationEnd, maxPayloadBytes } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readNews } from '../client/read-news.ts';
import { startRun } from '../client/start-run.ts';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { rootOf } from '../mesh/root-agent.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { remoteTool } from '../remote/remote-tool.ts';
import { serveAgent } from './serve-agent.ts';
import { serveTool } from './serve-tool.ts';

describe('agents in processes of their own', () => {
  it('hand a conversation over, keep it, and give it back', async () => {
    const world = memoryMesh();
    const boss = new ScriptedLlm(calls('transfer_to_agent', { agentName: 'helper' }), says('boss again'));
    const helper = new ScriptedLlm(says('helper here'), calls('transfer_to_agent', { agentName: 'boss' }));
    const bossAgent = new LlmAgent({
      name: 'boss',
      model: boss,
      description: 'Leads.',
      subAgents: [remoteAgent('helper')],
    });
    await serveAgent(
      await world.connect('agent_helper'),
      new LlmAgent({ name: 'helper', model: helper, description: 'Helps.' }),
    );
    await serveAgent(await world.connect('agent_boss'), bossAgent, { app: 'app' });
    const { say } = await world.chat('app');
    const first = await say('one');
    expect(first.events.map(brief)).toEqual([
      'boss: calls transfer_to_agent',
      'boss: gets {"result":"Transfer queued"}',
      'helper: helper here',
    ]);
    expect(first.end).toEqual({ status: 'completed', lastSeq: 4 });
    expect(String(boss.requests[0]?.config.systemInstruction)).toContain('helper: Helps.');
    const second = await say('two');
    expect(second.agent).toBe('helper');
    expect(second.events.map(brief).at(-1)).toBe('boss: boss again');
    expect(String(helper.requests[1]?.config.systemInstruction)).toContain('boss: Leads.');
  });

  it('do not hand the conversation to an agent that does not exist', async () => {
    const world = memoryMesh();
    const llm = new ScriptedLlm(calls('transfer_to_agent', { agentName: 'gone' }), says('then I do it'));
    const agent = new LlmAgent({ name: 'boss', model: llm, subAgents: [remoteAgent('gone')] });
    await serveAgent(await world.connect('agent_boss'), agent, { app: 'app' });
    const { events } = await (await world.chat('app')).say('go');
    expect(events.map(brief).slice(1)).toEqual([
      'boss: gets {"error":"tool transfer_to_agent: agent \\"gone\\" is not in the mesh now"}',
      'boss: then I do it',
    ]);
  });

  it('use each other as tools: state goes in and comes back, temp: and the count of model calls are shared', async () => {
    const world = memoryMesh();
    const note = new FunctionTool({
      name: 'note',
      description: 'notes',
      execute: (_args, context) => {
        context?.state.update({ noted: context.state.get('given'), 'temp:t': 'shared', 'user:u': 1 });
        return {};
      },
    });
    const look = new FunctionTool({
      name: 'look',
      description: 'looks',
      execute: (_args, context) => ({ t: context?.state.get('temp:t'), u: context?.state.get('user:u') }),
    });
    const child = new LlmAgent({
      name: 'child',
      model: new ScriptedLlm(calls('note'), says('noted')),
      tools: [note],
    });
    const llm = new ScriptedLlm(calls('set'), calls('child', { request: 'x' }), calls('look'), says('ok'));
    const set = new FunctionTool({
      name: 'set',
      description: 'sets',
      execute: (_args, context) => context?.state.set('given', 42),
    });
    const parent = new LlmAgent({
      name: 'parent',
      model: llm,
      tools: [set, look, new AgentTool({ agent: remoteAgent('child') })],
    });
    await serveAgent(await world.connect('agent_child'), child);
    await serveAgent(await world.connect('agent_parent'), parent, { app: 'app' });
    const { say, ref } = await world.chat('app');
    const run = await say('go');
    expect(run.events.map(brief).slice(3, 6)).toEqual([
      'parent: gets {"result":"noted"}',
      'parent: calls look',
      'parent: gets {"t":"shared","u":1}',
    ]);
    const stored = await world.sessions.getSession(ref);
    expect(stored?.state).toEqual({ given: 42, noted: 42, 'user:u': 1 });
    const record = await world.sessions.invocations.get({ ...ref, invocationId: run.invocationId });
    expect(record.llmCalls).toBe(6);
  });

  it('are stopped when they ask each other in a circle', async () => {
    const world = memoryMesh();
    const endless = (other: string) =>
      new ScriptedLlm(
        ...Array.from({ length: 60 }, (_, i) => (i % 2 ? says('enough') : calls(other, { request: 'x' }))),
      );
    const agent = (name: string, other: string) =>
      new LlmAgent({ name, model: endless(other), tools: [new AgentTool({ agent: remoteAgent(other) })] });
    await serveAgent(await world.connect('agent_a'), agent('a', 'b'), { app: 'app' });
    await serveAgent(await world.connect('agent_b'), agent('b', 'a'));
    const { end } = await (await world.chat('app')).say('go');
    expect(end.status).toBe('completed');
    expect(world.lines.join('')).not.toContain('"level":"error"');
  });

  it('have one root per app: a second root is refused, and of two that start at once the name decides', async () => {
    const world = memoryMesh();
    const serve = async (name: string) =>
      serveAgent(await world.connect(`agent_${name}`), new LlmAgent({ name, model: new ScriptedLlm() }), {
        app: 'app',
      });
    await serve('one');
    await expect(serve('two')).rejects.toMatchObject({
      code: 'failed_precondition',
      message: /app app is served by agent one, and two claims it too/,
    });
    const late = await world.connect('late');
    await late.bus.announce({ kind: 'agent', name: 'two', app: 'app' });
    // A card alone does not claim the app; a running service does.
    expect((await rootOf(late, 'app')).name).toBe('one');
    await late.bus.register({ kind: 'agent', name: 'two', version: '1.0.0', description: '' }, []);
    await expect(rootOf(late, 'app')).rejects.toThrow(/one, and two claims it/);
  });
});

describe('a run', () => {
  const served = async (...answers: ConstructorParameters<typeof ScriptedLlm>) => {
    const world = memoryMesh();
    const mesh = await world.connect('agent_solo');
    await serveAgent(mesh, new LlmAgent({ name: 'solo', model: new ScriptedLlm(...answers) }), {
      app: 'app',
    });
    const client = await world.connect('client');
    const ended = async (invocationId: string): Promise<InvocationEnd> => {
      const end = Promise.withResolvers<InvocationEnd>();
      await client.bus.subscribe(client.subjects.invocationWatch(everySession, invocationId), (message) => {
        const told = readNews(message)?.end;
        if (told) end.resolve(told);
      });
      return end.promise;
    };
    const namedSession = (command: unknown) => (command as { session?: string }).session ?? 'new';
    const send = (
      command: unknown,
      headers: Record<string, string> = {},
      messageId: string = crypto.randomUUID(),
      session: string = namedSession(command),
    ) => client.bus.enqueue(client.subjects.agentRun('solo', session), command, { messageId, headers });
    return { world, client, ended, send };
  };

  it('gets a session of its own when its program sends only a message', async () => {
    const { world, client, send } = await served(says('hello'));
    const heard = Promise.withResolvers<string>();
    await client.bus.subscribe(client.subjects.sessionEvent(everySession, every, every), (message) => {
      const event = message.json() as { author: string; content: { parts: { text: string }[] } };
      if (event.author === 'solo') heard.resolve(`${message.subject} ${event.content.parts[0]?.text}`);
    });
    await send({ message: 'hi' });
    expect(await heard.promise).toMatch(
      /session\.app\.anonymous\.s-[^.]+\.event\.none\.[^.]+\.agent_solo hello$/,
    );
    expect(world.lines).toEqual([]);
  });

  it('for a session that does not exist ends with an error', async () => {
    const { send, ended } = await served();
    const end = ended('e-1');
    await send({ invocationId: 'e-1', app: 'app', user: 'u', session: 'nope', message: 'hi' });
    expect(await end).toMatchObject({ status: 'failed', error: { code: 'not_found' } });
  });

  it('past its deadline is not started, and leaves an error in the session', async () => {
    const { world, send, ended } = await served();
    await world.sessions.createSession({ appName: 'app', userId: 'u', sessionId: 's' });
    const end = ended('e-1');
    await send(
      { invocationId: 'e-1', app: 'app', user: 'u', session: 's', message: 'hi' },
      { [header.deadline]: '1' },
    );
    expect(await end).toMatchObject({ status: 'failed', error: { code: 'deadline_exceeded' } });
    const stored = await world.sessions.getSession({ appName: 'app', userId: 'u', sessionId: 's' });
    expect(stored?.events.map(brief)).toEqual(['solo: fails deadline_exceeded']);
  });

  it('that is unreadable becomes a dead letter with an error in the log; the next one is served', async () => {
    const { world, send, ended } = await served(says('hello'));
    await send('no command');
    await send({ hop: -1, message: 7 });
    await world.sessions.createSession({ appName: 'app', userId: 'u', sessionId: 's' });
    const end = ended('e-1');
    await send({ invocationId: 'e-1', app: 'app', user: 'u', session: 's', message: 'hi' });
    expect(await end).toMatchObject({ status: 'completed' });
    expect(world.lines.filter((line) => line.includes('moved a message to the dead letters'))).toHaveLength(
      2,
    );
  });

  it('whose ids cannot be keys becomes a dead letter and is not tried for ever', async () => {
    const { world, send, ended } = await served(says('hello'));
    await send({ message: 'x', session: 's'.repeat(97) }, {}, crypto.randomUUID(), 'new');
    await send({ message: 'x', user: 'ü'.repeat(40) });
    await send({ message: 'x', invocationId: '\ud800' });
    await world.sessions.createSession({ appName: 'app', userId: 'u', sessionId: 's' });
    const end = ended('e-1');
    await send({ invocationId: 'e-1', app: 'app', user: 'u', session: 's', message: 'hi' });
    expect(await end).toMatchObject({ status: 'completed' });
    expect(world.lines.filter((line) => line.includes('moved a message to the dead letters'))).toHaveLength(
      3,
    );
  });

  it('is watched to its end whatever else is published on its subject', async () => {
    const world = memoryMesh();
    const gate = Promise.withResolvers<string>();
    const agent = new LlmAgent({
      name: 'solo',
      model: new ScriptedLlm(says('hello')),
      instruction: () => gate.promise,
    });
    await serveAgent(await world.connect('agent_solo'), agent, { app: 'app' });
    const { client, ref } = await world.chat('app');
    const run = await startRun(client, { app: 'app', user: 'u', session: ref.sessionId, message: 'hi' });
    const subject = client.subjects.sessionNews(ref, run.invocationId, 'test');
    await client.bus.publish(subject, 'noise');
    await client.bus.publish(subject, { status: 'over' }, { headers: { [header.frame]: 'result' } });
    gate.resolve('');
    expect((await Array.fromAsync(run.events)).map(brief)).toEqual(['solo: hello']);
    expect(await run.end).toMatchObject({ status: 'completed' });
  });

  it('that is delivered again while its first holder still works is taken over: the first commits nothing more', async () => {
    const world = memoryMesh();
    const gate = Promise.withResolvers<string>();
    const asked: number[] = [];
    const agent = new LlmAgent({
      name: 'solo',
      model: new ScriptedLlm(says('of the second'), says('of the first')),
      // The first delivery hangs here, as in a process that was stopped.
      instruction: async () => (asked.push(Date.now()) === 1 ? await gate.promise : ''),
    });
    const first = await world.connect('agent_solo');
    await serveAgent(first, agent, { app: 'app' });
    const { client, ref } = await world.chat('app');
    const command = { invocationId: 'e-1', app: 'app', user: 'u', session: ref.sessionId, message: 'hi' };
    await client.bus.enqueue(client.subjects.agentRun('solo', ref.sessionId), command, {
      messageId: 'first',
    });
    await until(() => asked.length === 1, { what: 'the first delivery to work' });
    // It still reaches the sessions, but the queue gets nothing from it any more.
    world.hub.kill(first.bus);
    await serveAgent(await world.connect('agent_solo'), agent, { app: 'app' });
    const log = async () => (await world.sessions.getSession(ref))?.events.map(brief);
    await until(async () => (await log())?.length === 2, { what: 'the second delivery to answer' });
    gate.resolve('');
    await until(() => world.lines.some((line) => line.includes('has taken over')), {
      what: 'the first delivery to give up',
    });
    expect(await log()).toEqual(['user: hi', 'solo: of the second']);
  });

  it('that is delivered again after its end changes nothing and tells its end again', async () => {
    const { world, send, ended } = await served(says('hello'));
    await world.sessions.createSession({ appName: 'app', userId: 'u', sessionId: 's' });
    const command = { invocationId: 'e-1', app: 'app', user: 'u', session: 's', message: 'hi' };
    for (const id of ['first', 'again']) {
      const end = ended('e-1');
      await send(command, {}, id);
      expect(await end).toMatchObject({ status: 'completed', lastSeq: 2 });
    }
  });

  it('of an agent whose user code throws ends with an error event; the cause stays in the log', async () => {
    const world = memoryMesh();
    const agent = new LlmAgent({
      name: 'solo',
      model: new ScriptedLlm(),
      instruction: () => {
        throw new Error('secret detail');
      },
    });
    await serveAgent(await world.connect('agent_solo'), agent, { app: 'app' });
    const { events, end } = await (await world.chat('app')).say('go');
    expect(events.map(brief)).toEqual(['solo: fails internal']);
    expect(end).toMatchObject({ status: 'failed', error: { code: 'internal' } });
    expect(JSON.stringify([events, end])).not.toContain('secret detail');
    expect(world.lines.join('')).toContain('secret detail');
  });
});

describe('a tool in a process of its own', () => {
  const add = (log: string[] = []) =>
    new FunctionTool({
      name: 'add',
      description: 'Adds.',
      parameters: z.object({ a: z.number(), b: z.number() }),
      execute: ({ a, b }, context) => {
        log.push(context?.functionCallId ?? '');
        context?.state.set('sum', a + b);
        return a + b;
      },
    });

  it('is found by its card: the model sees its declaration, its result and its state changes', async () => {
    const world = memoryMesh();
    await serveTool(await world.connect('tool_add'), add());
    const llm = new ScriptedLlm(calls('add', { a: 1, b: 2 }), says('three'));
    await serveAgent(
      await world.connect('agent_solo'),
      new LlmAgent({ name: 'solo', model: llm, tools: [remoteTool('add')] }),
      { app: 'app' },
    );
    const { events } = await (await world.chat('app')).say('go');
    expect(events.map(brief)).toEqual(['solo: calls add', 'solo: gets {"result":3}', 'solo: three']);
    expect(events[1]?.actions.stateDelta).toEqual({ sum: 3 });
    expect(llm.requests[0]?.config.tools).toMatchObject([
      { functionDeclarations: [{ name: 'add', description: 'Adds.', parameters: { required: ['a', 'b'] } }] },
    ]);
  });

  it('reports wrong arguments to the model as a local tool does, and that nobody serves a tool', async () => {
    const world = memoryMesh();
    await serveTool(await world.connect('tool_add'), add());
    const llm = new ScriptedLlm(calls('add', { a: 1 }), calls('gone'), says('ok'));
    const tools = [remoteTool('add'), remoteTool('gone')];
    await serveAgent(await world.connect('agent_solo'), new LlmAgent({ name: 'solo', model: llm, tools }), {
      app: 'app',
    });
    const { events } = await (await world.chat('app')).say('go');
    expect(events.map(brief)[1]).toMatch(/missing parameter \\"b\\"/);
    expect(events.map(brief)[3]).toMatch(/there is no tool \\"gone\\"; the tools are: add/);
    expect(events.map(brief).at(-1)).toBe('solo: ok');
  });

  it('reports a result that is too large to the model, and does the work once', async () => {
    const world = memoryMesh();
    let done = 0;
    const execute = () => {
      done += 1;
      return 'x'.repeat(maxPayloadBytes);
    };
    await serveTool(
      await world.connect('tool_dump'),
      new FunctionTool({ name: 'dump', description: 'Dumps.', execute }),
    );
    const llm = new ScriptedLlm(calls('dump'), says('then in parts'));
    const agent = new LlmAgent({ name: 'solo', model: llm, tools: [remoteTool('dump')] });
    await serveAgent(await world.connect('agent_solo'), agent, { app: 'app' });
    const { events, end } = await (await world.chat('app')).say('go');
    expect(events.map(brief)[1]).toMatch(/over the limit of \d+; save what is large as an artifact/);
    expect(events.map(brief).at(-1)).toBe('solo: then in parts');
    expect([end.status, done]).toEqual(['completed', 1]);
  });

  it('ends the run with an error, once, when it is local and its result is too large', async () => {
    const world = memoryMesh();
    const llm = new ScriptedLlm(calls('dump'));
    const execute = () => 'x'.repeat(maxPayloadBytes);
    const tools = [new FunctionTool({ name: 'dump', description: 'Dumps.', execute })];
    const agent = new LlmAgent({ name: 'solo', model: llm, tools });
    await serveAgent(await world.connect('agent_solo'), agent, { app: 'app' });
    const { events, end } = await (await world.chat('app')).say('go');
    expect(events.map(brief).at(-1)).toBe('solo: fails internal');
    expect(end).toMatchObject({ status: 'failed', error: { code: 'internal' } });
    expect(llm.requests).toHaveLength(1);
  });

  it('may be absent for a moment: the call waits for it', async () => {
    const world = memoryMesh();
    const first = await serveTool(await world.connect('tool_add'), add());
    const llm = new ScriptedLlm(calls('add', { a: 1, b: 2 }), says('three'));
    const agent = new LlmAgent({ name: 'solo', model: llm, tools: [remoteTool('add')] });
    await serveAgent(await world.connect('agent_solo'), agent, { app: 'app' });
    const { say } = await world.chat('app');
    await first.stop();
    const running = say('go');
    await until(() => world.lines.some((line) => line.includes('asking again')), {
      what: 'the agent to ask again',
    });
    await serveTool(await world.connect('tool_add'), add());
    expect((await running).events.map(brief)[1]).toBe('solo: gets {"result":3}');
  });

  it('does the work of one call id once, also when it comes to two replicas at the same time', async () => {
    const world = memoryMesh();
    const gate = Promise.withResolvers<number>();
    let started = 0;
    const slow = () =>
      new FunctionTool({
        name: 'slow',
        description: 'slow',
        execute: () => {
          started += 1;
          return gate.promise;
        },
      });
    await serveTool(await world.connect('tool_slow'), slow());
    await serveTool(await world.connect('tool_slow'), slow());
    const { bus, subjects } = await world.connect('client');
    const ask = () => Array.fromAsync(bus.request(subjects.toolCall('slow'), { callId: 'c1' }));
    const asked = Array.from({ length: 20 }, ask);
    await until(() => started > 0, { what: 'the work to begin' });
    gate.resolve(7);
    for (const frames of await Promise.all(asked)) {
      expect(frames.at(-1)).toMatchObject({ type: 'result', data: { response: { result: 7 } } });
    }
    expect(started).toBe(1);
  });

  it('keeps the results of a user from another user with the same call id', async () => {
    const world = memoryMesh();
    await serveTool(await world.connect('tool_add'), add());
    const { bus, subjects } = await world.connect('client');
    const callAs = async (user: string, a: number) => {
      const context = { app: 'app', user, session: 's', invocationId: 'e-1', agent: 'x' };
      const frames = await Array.fromAsync(
        bus.request(subjects.toolCall('add'), { callId: 'c1', args: { a, b: 0 }, context }),
      );
      return frames.at(-1);
    };
    expect(await callAs('alice', 1)).toMatchObject({ data: { response: { result: 1 } } });
    expect(await callAs('bob', 2)).toMatchObject({ data: { response: { result: 2 } } });
  });

  it('does the work of one call id once', async () => {
    const world = memoryMesh();
    const done: string[] = [];
    await serveTool(await world.connect('tool_add'), add(done));
    const { bus, subjects } = await world.connect('client');
    for (const args of [
      { a: 1, b: 2 },
      { a: 5, b: 5 },
    ]) {
      const frames = await Array.fromAsync(bus.request(subjects.toolCall('add'), { callId: 'c1', args }));
      expect(frames.at(-1)).toMatchObject({ type: 'result', data: { response: { result: 3 } } });
    }
    expect(done).toEqual(['c1']);
  });
});

describe('a question of a program', () => {
  it('may not pretend to be a call or a step of an agent', async () => {
    const world = memoryMesh();
    await serveAgent(
      await world.connect('agent_solo'),
      new LlmAgent({ name: 'solo', model: new ScriptedLlm() }),
    );
    const { bus, subjects } = await world.connect('client');
    const place = { app: 'app', user: 'alice', session: 's', invocationId: 'e-1' };
    for (const forged of [
      { parent: { ...place, agent: 'a', callId: 's' } },
      { step: { ...place, journalStart: 0 } },
    ]) {
      const asked = Array.fromAsync(bus.request(subjects.agentAsk('solo'), { message: 'x', ...forged }));
      await expect(asked).rejects.toMatchObject({ code: 'permission_denied' });
    }
  });
});

describe('an agent of its own kind', () => {
  it('runs agents in other processes as steps: in the same session, each event once and in order', async () => {
    let statusAfterFirst: string | undefined;
    class Pipeline extends BaseAgent {
      protected override async *runAsyncImpl(context: InvocationContext) {
        for (const step of this.subAgents) {
          yield* step.runAsync(context);
          statusAfterFirst ??= (await context.sessionService.invocations.get(context.ref)).status;
        }
      }
    }
    const world = memoryMesh();
    const first = new ScriptedLlm(says('draft'));
    const second = new ScriptedLlm(says('final'));
    const pipeline = new Pipeline({
      name: 'pipeline',
      subAgents: [remoteAgent('writer'), remoteAgent('editor')],
    });
    await serveAgent(
      await world.connect('agent_writer'),
      new LlmAgent({ name: 'writer', model: first, outputKey: 'draft' }),
    );
    await serveAgent(
      await world.connect('agent_editor'),
      new LlmAgent({ name: 'editor', model: second, instruction: 'Edit {draft}' }),
    );
    await serveAgent(await world.connect('agent_pipeline'), pipeline, { app: 'app' });
    const { say, ref } = await world.chat('app');
    const { events, end, invocationId } = await say('go');
    expect(events.map(brief)).toEqual(['writer: draft', 'editor: final']);
    expect(statusAfterFirst).toBe('running');
    expect((await world.sessions.invocations.get({ ...ref, invocationId })).status).toBe('completed');
    expect(end).toMatchObject({ status: 'completed', lastSeq: 3 });
    expect(second.requests[0]?.config.systemInstruction).toBe('Edit draft');
    const stored = await world.sessions.getSession(ref);
    expect(stored?.events.map(({ author }) => author)).toEqual(['user', 'writer', 'editor']);
  });
});
