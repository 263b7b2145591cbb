import { AgentTool, LlmAgent } from '@agentmesh/agent';
import { header, subjects } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { callService } from '../remote/call-service.ts';
import { remoteAgent } from '../remote/remote-agent.ts';
import { serveAgent } from '../serve/serve-agent.ts';

const message = { role: 'user', parts: [{ text: 'hi' }] };

/** Makes a run that holds its session, and a function that asks on its behalf as its agent does. */
async function runAtWork() {
  const world = memoryMesh();
  const { client, ref } = await world.chat('app');
  const taken = await world.sessions.leases.take(
    { ...ref, invocationId: 'e-1' },
    { run: '', whenBusy: 'reject' },
  );
  const token = taken.state === 'held' ? taken.token : 0;
  const place = { app: 'app', user: 'u', session: ref.sessionId, invocationId: 'e-1' };
  const ask = (payload: object) =>
    Array.fromAsync(
      client.bus.request(
        subjects().agentDelegate('back'),
        { message, ...payload },
        { headers: { [header.token]: String(token) } },
      ),
    );
  return { world, ref, place, ask };
}

describe('an ask that is sent again while its first callee lives', () => {
  it('is answered once: late commits of the first callee are refused', async () => {
    const { world, ref, place, ask } = await runAtWork();
    const go = Promise.withResolvers<void>();
    let asked = 0;
    for (const replica of ['a', 'b']) {
      const model = new ScriptedLlm(says('one'), says('two'));
      const { generateContentAsync } = model;
      model.generateContentAsync = async function* (...args) {
        asked += 1;
        await go.promise;
        yield* generateContentAsync.apply(model, args);
      };
      await serveAgent(await world.connect(`back_${replica}`), new LlmAgent({ name: 'back', model }));
    }
    const parent = { ...place, agent: 'front', callId: 'c1' };
    const first = ask({ parent });
    await expect.poll(() => asked).toBe(1);
    const second = ask({ parent });
    await expect.poll(() => asked).toBe(2);
    go.resolve();
    await expect(first).rejects.toMatchObject({ code: 'aborted' });
    expect((await second).at(-1)).toMatchObject({ type: 'result', data: { text: expect.any(String) } });
    const log = await world.sessions.log.readEvents({ ...ref, sessionId: 'c1' });
    expect(log.map(({ event }) => event.author)).toEqual(['user', 'back']);
  });

  it('is sent again when a late copy has fenced off the awaited one', async () => {
    const { world, place } = await runAtWork();
    const go = Promise.withResolvers<void>();
    let asked = 0;
    const model = new ScriptedLlm(says('one'), says('two'), says('three'));
    const { generateContentAsync } = model;
    model.generateContentAsync = async function* (...args) {
      asked += 1;
      if (asked === 1) await go.promise;
      yield* generateContentAsync.apply(model, args);
    };
    await serveAgent(await world.connect('back'), new LlmAgent({ name: 'back', model }));
    const asker = await world.connect('front');
    const target = { to: 'back', kind: 'agent' as const };
    const callee = { subject: subjects().agentDelegate('back'), target, isKnown: () => true };
    const payload = { message, parent: { ...place, agent: 'front', callId: 'c1' } };
    const answer = Array.fromAsync(callService(asker, callee, payload, { headers: { [header.token]: '1' } }));
    await expect.poll(() => asked).toBe(1);
    // The same request as an earlier copy that was held up in a buffer.
    const part = JSON.stringify(['back', '', 'c1', null, null, null]);
    await world.sessions.invocations.beginAttempt(
      { appName: 'app', userId: 'u', sessionId: 'c1', invocationId: 'e-1' },
      part,
    );
    go.resolve();
    expect((await answer).at(-1)).toMatchObject({ type: 'result', data: { text: expect.any(String) } });
    expect(asked).toBe(2);
  });

  it('yields the events that the first attempt at a step committed, but not those that the asker knew', async () => {
    const { world, place, ask } = await runAtWork();
    const model = new ScriptedLlm(says('one'));
    await serveAgent(await world.connect('back'), new LlmAgent({ name: 'back', model }));
    const events = async (afterSeq: number) => {
      const frames = await ask({ step: { ...place, journalStart: 0, afterSeq } });
      return frames.filter(({ type }) => type === 'event').length;
    };
    expect([await events(0), await events(0), await events(1)]).toEqual([1, 1, 0]);
    expect(model.requests).toHaveLength(1);
  });
});

describe('an ask whose replica is stopped', () => {
  it('is made again at another replica: nobody has cancelled it', async () => {
    const world = memoryMesh();
    const begun = Promise.withResolvers<void>();
    const hanging = new ScriptedLlm();
    hanging.generateContentAsync = async function* () {
      begun.resolve();
      await new Promise(() => {});
    };
    const first = await serveAgent(
      await world.connect('agent_back'),
      new LlmAgent({ name: 'back', model: hanging }),
    );
    const model = new ScriptedLlm(calls('back', { request: 'go' }), says('done'));
    const tools = [new AgentTool({ agent: remoteAgent('back') })];
    await serveAgent(await world.connect('agent_root'), new LlmAgent({ name: 'root', model, tools }), {
      app: 'app',
    });
    const chat = await world.chat('app');
    const said = chat.say('go');
    await begun.promise;
    await serveAgent(
      await world.connect('agent_back'),
      new LlmAgent({ name: 'back', model: new ScriptedLlm(says('back again')) }),
    );
    await first.stop({ graceMs: 0 });
    expect((await said).events.map(brief)).toEqual([
      'root: calls back',
      'root: gets {"result":"back again"}',
      'root: done',
    ]);
  });
});
