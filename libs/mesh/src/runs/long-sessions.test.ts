import {
  createEvent,
  type GetSessionConfig,
  type InMemorySessionService,
  LlmAgent,
  LongRunningFunctionTool,
  SequentialAgent,
  TruncatingContextCompactor,
} from '@agentmesh/agent';
import type { SessionRef } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { startRun } from '../client/start-run.ts';
import { memoryMesh, calls as modelCalls, ScriptedLlm, says } from '../harness.fixture.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { serveAgent } from '../serve/serve-agent.ts';

const short = { contextCompactors: [new TruncatingContextCompactor({ threshold: 4 })] };

/** Fills a session with old events. */
async function talk(sessions: InMemorySessionService, ref: SessionRef, count: number): Promise<void> {
  const session = (await sessions.getSession(ref)) ?? expect.fail();
  for (let n = 1; n <= count; n += 1) {
    const content = { role: 'user', parts: [{ text: `old ${n}` }] };
    await sessions.appendEvent({
      session,
      event: createEvent({ invocationId: `old-${n}`, author: 'user', content }),
    });
  }
}

/** Notes how many events each read of a session has returned. */
function watchReads(sessions: InMemorySessionService): number[] {
  const reads: number[] = [];
  const { getSession, log } = sessions;
  const { readTurn } = log;
  sessions.getSession = async (request: { config?: GetSessionConfig } & SessionRef) => {
    const session = await getSession.call(sessions, request);
    reads.push(session?.events.length ?? 0);
    return session;
  };
  log.readTurn = async (...args) => {
    const turn = await readTurn.apply(log, args);
    reads.push(turn?.session.events.length ?? 0);
    return turn;
  };
  return reads;
}

describe('a long session whose prompts are short', () => {
  it('is read from near its end, by the workflow and by its steps in other processes', async () => {
    const world = memoryMesh();
    const [writer, editor] = [new ScriptedLlm(says('draft')), new ScriptedLlm(says('final'))];
    const pipeline = new SequentialAgent({
      name: 'pipeline',
      subAgents: [remoteAgent('writer'), remoteAgent('editor')],
    });
    for (const [name, model] of Object.entries({ writer, editor }))
      await serveAgent(await world.connect(`agent_${name}`), new LlmAgent({ name, model, ...short }));
    await serveAgent(await world.connect('agent_pipeline'), pipeline, { app: 'app' });
    const { say, ref } = await world.chat('app');
    await talk(world.sessions, ref, 300);
    const reads = watchReads(world.sessions);
    const { events, end } = await say('go');
    expect(events.map(({ author, content }) => [author, content?.parts?.[0]?.text])).toEqual([
      ['writer', 'draft'],
      ['editor', 'final'],
    ]);
    expect(end).toMatchObject({ status: 'completed', lastSeq: 303 });
    expect(Math.max(...reads)).toBeLessThan(60);
    const texts = editor.requests[0]?.contents.flatMap(({ parts = [] }) => parts.map(({ text }) => text));
    expect(texts).toEqual(['old 299', 'old 300', 'go', 'For context:', '[writer] said: draft']);
  });

  it('is read from the call whose late result has come', async () => {
    const world = memoryMesh();
    const model = new ScriptedLlm(modelCalls('order'), says('ordered'), says('it is there'));
    const order = new LongRunningFunctionTool({
      name: 'order',
      description: 'orders',
      execute: () => ({ status: 'pending' }),
    });
    const clerk = new LlmAgent({ name: 'clerk', model, tools: [order], ...short });
    await serveAgent(await world.connect('agent_clerk'), clerk, { app: 'app' });
    const { say, ref, client } = await world.chat('app');
    await talk(world.sessions, ref, 200);
    const { events } = await say('order it');
    await talk(world.sessions, ref, 100);
    const reads = watchReads(world.sessions);
    const id = events.flatMap(({ longRunningToolIds = [] }) => longRunningToolIds)[0] ?? expect.fail();
    const functionResponse = { id, name: 'order', response: { status: 'there' } };
    const message = { role: 'user', parts: [{ functionResponse }] };
    const names = { app: 'app', user: 'u', session: ref.sessionId };
    // Another process, which has not seen the session before.
    const run = await startRun(client, { ...names, message });
    expect((await Array.fromAsync(run.events)).map(({ content }) => content?.parts?.[0]?.text)).toEqual([
      'it is there',
    ]);
    const parts = model.requests.at(-1)?.contents.flatMap((content) => content.parts ?? []) ?? [];
    expect(parts.filter((part) => part.functionCall?.name === 'order')).toHaveLength(1);
    expect(parts.at(-1)?.functionResponse?.response).toEqual({ status: 'there' });
    expect(Math.max(...reads)).toBeLessThan(110);
  });

  it('goes to the agent that spoke last, however long ago', async () => {
    const world = memoryMesh();
    const [root, billing] = [new ScriptedLlm(says('I am the root')), new ScriptedLlm(says('I am billing'))];
    const sub = new LlmAgent({ name: 'billing', model: billing, ...short });
    const agent = new LlmAgent({ name: 'root', model: root, subAgents: [sub], ...short });
    await serveAgent(await world.connect('agent_root'), agent, { app: 'app' });
    const { say, ref } = await world.chat('app');
    const session = (await world.sessions.getSession(ref)) ?? expect.fail();
    const content = { role: 'model', parts: [{ text: 'billing here' }] };
    await world.sessions.appendEvent({
      session,
      event: createEvent({ invocationId: 'e-1', author: 'billing', content }),
    });
    await talk(world.sessions, ref, 150);
    const { events } = await say('and my bill?');
    expect(events.map(({ author }) => author)).toEqual(['billing']);
  });
});
