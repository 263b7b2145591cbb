import { AgentTool, getFunctionCalls, LlmAgent, SequentialAgent } from '@agentmesh/agent';
import { agentCardSchema, answerSchema, header, MeshError, parse } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { agentCard } from '../mesh/cards.ts';
import { callService } from '../remote/call-service.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { serveAgent } from '../serve/serve-agent.ts';

const to = (agentName: string) => calls('transfer_to_agent', { agentName });
const ask = calls('boss', { request: 'do it' });

describe('the ask of a program', () => {
  it('has its end recorded and published before its answer comes, and its session is free then', async () => {
    const world = memoryMesh();
    const solo = new LlmAgent({ name: 'solo', model: new ScriptedLlm(says('first'), says('second')) });
    const mesh = await world.connect('agent_solo');
    await serveAgent(mesh, solo, { app: 'app' });
    const { client, ref } = await world.chat('app');
    const told: unknown[] = [];
    await client.bus.subscribe('mesh.v1.session.*.*.*.news.*.*.*', (message) => {
      if (message.headers[header.frame] === 'result') told.push(message.json());
    });
    const ask = async (message: string) => {
      const payload = { message, user: 'u', session: ref.sessionId };
      for await (const frame of client.bus.request(client.subjects.agentAsk('solo'), payload)) {
        if (frame.type !== 'result') continue;
        const { invocationId } = parse(answerSchema, frame.data, 'the answer');
        return await world.sessions.invocations.get({ ...ref, invocationId });
      }
      throw new Error('no answer');
    };
    expect(await ask('one')).toMatchObject({ status: 'completed' });
    expect(await ask('two')).toMatchObject({ status: 'completed' });
    await expect.poll(() => told).toMatchObject([{ status: 'completed' }, { status: 'completed' }]);
    expect(world.lines).toEqual([]);
  });

  it('caches the events of the session for the next turn', async () => {
    const world = memoryMesh();
    const solo = new LlmAgent({ name: 'solo', model: new ScriptedLlm(says('first')) });
    const mesh = await world.connect('agent_solo');
    const kept: string[] = [];
    const keep = mesh.sessionCache.keep.bind(mesh.sessionCache);
    mesh.sessionCache.keep = (session) => {
      kept.push(session.id);
      keep(session);
    };
    await serveAgent(mesh, solo, { app: 'app' });
    const { client, ref } = await world.chat('app');
    const payload = { message: 'hi', user: 'u', session: ref.sessionId };
    await Array.fromAsync(client.bus.request(client.subjects.agentAsk('solo'), payload));
    expect(kept).toEqual([ref.sessionId]);
  });
});

describe('an agent that is asked', () => {
  it('hands over to a remote agent, which may hand back; the last text is the answer', async () => {
    const world = memoryMesh();
    const helper = new LlmAgent({
      name: 'helper',
      model: new ScriptedLlm(to('boss')),
      description: 'Helps.',
    });
    const boss = new LlmAgent({
      name: 'boss',
      model: new ScriptedLlm(to('helper'), says('boss has the last word')),
      subAgents: [remoteAgent('helper')],
    });
    const root = new LlmAgent({
      name: 'root',
      model: new ScriptedLlm(ask, says('thanks')),
      tools: [new AgentTool({ agent: remoteAgent('boss') })],
    });
    await serveAgent(await world.connect('agent_helper'), helper);
    await serveAgent(await world.connect('agent_boss'), boss);
    await serveAgent(await world.connect('agent_root'), root, { app: 'app' });
    const { say, ref } = await world.chat('app');
    const { events, end } = await say('go');
    expect(events.map(brief)).toEqual([
      'root: calls boss',
      'root: gets {"result":"boss has the last word"}',
      'root: thanks',
    ]);
    expect(end.status).toBe('completed');
    const [call] = events.flatMap(getFunctionCalls);
    const child = await world.sessions.getSession({ ...ref, sessionId: call?.id ?? '' });
    expect(child?.events.map(({ author }) => author)).toEqual([
      'user',
      'boss',
      'boss',
      'helper',
      'helper',
      'boss',
    ]);
  });

  it('hands over within its step of a workflow; the workflow continues after it', async () => {
    const world = memoryMesh();
    const helper = new LlmAgent({ name: 'helper', model: new ScriptedLlm(says('helped')) });
    const boss = new LlmAgent({
      name: 'boss',
      model: new ScriptedLlm(to('helper')),
      subAgents: [remoteAgent('helper')],
    });
    const last = new LlmAgent({ name: 'last', model: new ScriptedLlm(says('done')) });
    const pipeline = new SequentialAgent({ name: 'pipeline', subAgents: [remoteAgent('boss'), last] });
    await serveAgent(await world.connect('agent_helper'), helper);
    await serveAgent(await world.connect('agent_boss'), boss);
    await serveAgent(await world.connect('agent_pipeline'), pipeline, { app: 'app' });
    const { events } = await (await world.chat('app')).say('go');
    expect(events.map(brief).slice(2)).toEqual(['helper: helped', 'last: done']);
  });

  it('in a workflow of its own process hands over within its step', async () => {
    const world = memoryMesh();
    const helper = new LlmAgent({ name: 'helper', model: new ScriptedLlm(says('helped')) });
    const boss = new LlmAgent({
      name: 'boss',
      model: new ScriptedLlm(to('helper')),
      subAgents: [remoteAgent('helper')],
    });
    const last = new LlmAgent({ name: 'last', model: new ScriptedLlm(says('done')) });
    const pipeline = new SequentialAgent({ name: 'pipeline', subAgents: [boss, last] });
    await serveAgent(await world.connect('agent_helper'), helper);
    await serveAgent(await world.connect('agent_pipeline'), pipeline, { app: 'app' });
    const { events } = await (await world.chat('app')).say('go');
    expect(events.map(brief).slice(2)).toEqual(['helper: helped', 'last: done']);
  });

  const typed = (model: ScriptedLlm) =>
    new LlmAgent({
      name: 'typed',
      model,
      inputSchema: z.object({ city: z.string(), days: z.number().int().default(3) }),
      outputSchema: z.object({ degrees: z.number() }),
    });

  it('publishes its input schema on its card; its answer is the value itself', async () => {
    const world = memoryMesh();
    const inner = new ScriptedLlm(says('{"degrees": 4}'));
    await serveAgent(await world.connect('agent_typed'), typed(inner));
    const llm = new ScriptedLlm(
      calls('typed', { days: 1 }),
      calls('typed', { city: 'Oslo', days: 'two' }),
      calls('typed', { city: 'Oslo' }),
      says('ok'),
    );
    const root = new LlmAgent({
      name: 'root',
      model: llm,
      tools: [new AgentTool({ agent: remoteAgent('typed') })],
    });
    const mesh = await world.connect('agent_root');
    await serveAgent(mesh, root, { app: 'app' });
    const { events } = await (await world.chat('app')).say('go');
    const [missing, wrong, right] = events.map(brief).filter((each) => each.includes('gets'));
    expect(missing).toContain('missing parameter \\"city\\"');
    expect(wrong).toContain('parameter \\"days\\"');
    expect(right).toBe('root: gets {"degrees":4}');
    expect(inner.requests[0]?.contents[0]?.parts).toEqual([{ text: '{"city":"Oslo","days":3}' }]);
    expect(llm.requests[0]?.config.tools).toEqual([
      { functionDeclarations: [{ name: 'typed', description: '', parameters: expect.anything() }] },
    ]);
    const card = agentCardSchema.parse(agentCard(mesh, 'typed'));
    expect(card.inputSchema).toMatchObject({ required: ['city'] });
    expect(card.outputSchema).toMatchObject({ properties: { degrees: { type: 'NUMBER' } } });
  });

  it('answers a program with the value too, and names the input that is missing', async () => {
    const world = memoryMesh();
    await serveAgent(await world.connect('agent_typed'), typed(new ScriptedLlm(says('{"degrees": 4}'))));
    const client = await world.connect('client');
    const target = { to: 'typed', kind: 'agent' as const };
    const callee = { subject: client.subjects.agentAsk('typed'), target, isKnown: () => true };
    const asked = async (message: string) => {
      for await (const frame of callService(client, callee, { message }, {}))
        if (frame.type === 'result') return frame.data;
      return undefined;
    };
    expect(answerSchema.parse(await asked('{"city":"Oslo"}')).output).toEqual({ degrees: 4 });
    const refusal = await asked('hello').catch((error: unknown) => MeshError.from(error));
    expect(refusal).toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('JSON object'),
    });
  });

  it('causes an error for the asker when its answer does not fit its schema', async () => {
    const world = memoryMesh();
    await serveAgent(await world.connect('agent_typed'), typed(new ScriptedLlm(says('{"degrees": "warm"}'))));
    const llm = new ScriptedLlm(calls('typed', { city: 'Oslo' }), says('pity'));
    const root = new LlmAgent({
      name: 'root',
      model: llm,
      tools: [new AgentTool({ agent: remoteAgent('typed') })],
    });
    await serveAgent(await world.connect('agent_root'), root, { app: 'app' });
    const { events } = await (await world.chat('app')).say('go');
    expect(events.map(brief)[1]).toContain('does not fit its schema');
  });
});

describe('an agent that hands over', () => {
  it('ends its turn before the next agent begins, in one process and in two', async () => {
    const build = (elsewhere: boolean) => {
      const helper = new LlmAgent({ name: 'helper', model: new ScriptedLlm(says('helped')) });
      const boss = new LlmAgent({
        name: 'boss',
        model: new ScriptedLlm(to('helper')),
        subAgents: [elsewhere ? remoteAgent('helper') : helper],
        afterAgentCallback: () => ({ parts: [{ text: 'over to you' }] }),
      });
      return { boss, helper };
    };
    const expected = [
      'boss: calls transfer_to_agent',
      'boss: gets {"result":"Transfer queued"}',
      'boss: over to you',
      'helper: helped',
    ];
    const here = memoryMesh();
    await serveAgent(await here.connect('agent_boss'), build(false).boss, { app: 'app' });
    expect((await (await here.chat('app')).say('go')).events.map(brief)).toEqual(expected);
    const apart = memoryMesh();
    const { boss, helper } = build(true);
    await serveAgent(await apart.connect('agent_helper'), helper);
    await serveAgent(await apart.connect('agent_boss'), boss, { app: 'app' });
    expect((await (await apart.chat('app')).say('go')).events.map(brief)).toEqual(expected);
  });
});

describe('a conversation', () => {
  it('that was handed on twice stays with the last agent that keeps conversations', async () => {
    const world = memoryMesh();
    const desk = new LlmAgent({
      name: 'desk',
      model: new ScriptedLlm(to('billing')),
      subAgents: [remoteAgent('billing'), remoteAgent('refunds')],
    });
    const billing = new LlmAgent({
      name: 'billing',
      model: new ScriptedLlm(to('refunds'), says('billing again')),
    });
    const refunds = new LlmAgent({
      name: 'refunds',
      model: new ScriptedLlm(says('refunded')),
      disallowTransferToParent: true,
      disallowTransferToPeers: true,
    });
    await serveAgent(await world.connect('agent_refunds'), refunds);
    await serveAgent(await world.connect('agent_billing'), billing);
    await serveAgent(await world.connect('agent_desk'), desk, { app: 'app' });
    const { say } = await world.chat('app');
    expect((await say('refund')).events.map(brief).at(-1)).toBe('refunds: refunded');
    const next = await say('and now?');
    expect(next.agent).toBe('billing');
    expect(next.events.map(brief)).toEqual(['billing: billing again']);
  });
});
