import { FunctionTool, getFunctionCalls, LlmAgent } from '@agentmesh/agent';
import { describe, expect, it } from 'vitest';
import { type RunRequest, startRun } from '../client/start-run.ts';
import { brief, calls, memoryMesh, ScriptedLlm, says } from '../harness.fixture.ts';
import { serveAgent } from '../serve/serve-agent.ts';

/** Makes a session in which a payment waits for a person; the agent that asked is down. */
async function openPayment() {
  const world = memoryMesh();
  const paid: number[] = [];
  const pay = new FunctionTool({
    name: 'pay',
    description: 'pays',
    requireConfirmation: true,
    execute: () => ({ paid: paid.push(1) }),
  });
  const root = new LlmAgent({
    name: 'root',
    model: new ScriptedLlm(calls('pay'), says('done'), says('and on')),
    tools: [pay],
  });
  const serve = async () => await serveAgent(await world.connect('agent_root'), root, { app: 'app' });
  const served = await serve();
  const { client, ref, say } = await world.chat('app');
  const { events } = await say('go');
  const question = events.flatMap(getFunctionCalls).at(-1);
  await served.stop({ graceMs: 1_000 });
  const answer = (
    response: Record<string, unknown> = { confirmed: true },
    more: Pick<RunRequest, 'answeredBy'> = {},
  ) => {
    const functionResponse = { id: question?.id ?? '', name: 'adk_request_confirmation', response };
    const message = { role: 'user', parts: [{ functionResponse }] };
    const request = { app: 'app', user: 'u', session: ref.sessionId, message, ...more };
    return startRun(client, request, { whenAbsent: 'enqueue' });
  };
  const picture = async () => {
    const session = await world.sessions.getSession(ref);
    return { session, pending: await world.sessions.pending.list(ref) };
  };
  return { world, ref, paid, serve, answer, picture, client };
}

describe('an answer on the mesh', () => {
  it('that loses a race ends only its own run and leaves the log unchanged', async () => {
    const { serve, answer, picture, paid } = await openPayment();
    const [first, second] = [await answer(), await answer()];
    await serve();
    expect((await Array.fromAsync(first.events)).map(brief)).toEqual(['root: gets {"paid":1}', 'root: done']);
    expect(await Array.fromAsync(second.events)).toEqual([]);
    expect(await second.end).toMatchObject({
      status: 'failed',
      error: { code: 'failed_precondition', details: { reason: 'message_refused' } },
    });
    const { session } = await picture();
    expect(session?.events.map(({ invocationId }) => invocationId)).not.toContain(second.invocationId);
    expect(session?.events.at(-1)?.invocationId).toBe(first.invocationId);
    expect(paid).toHaveLength(1);
  });

  it('that is invalid is refused before anything is enqueued', async () => {
    const { answer, picture } = await openPayment();
    const before = await picture();
    await expect(answer({ confirmed: 'yes' })).rejects.toMatchObject({ code: 'invalid_argument' });
    await expect(answer({})).rejects.toMatchObject({ code: 'invalid_argument' });
    expect(await picture()).toEqual(before);
    expect(before.pending).toHaveLength(1);
  });

  it('is checked against the pending calls, without the log of the session', async () => {
    const { world, answer, ref } = await openPayment();
    const whole: unknown[] = [];
    const { getSession } = world.sessions;
    world.sessions.getSession = (request) => {
      if (request.config?.numRecentEvents === undefined) whole.push(request);
      return getSession.call(world.sessions, request);
    };
    await answer();
    expect(whole).toEqual([]);
    expect(await world.sessions.pending.list(ref)).toHaveLength(1);
  });

  it('is kept with its author and the way it came in', async () => {
    const { serve, answer, picture } = await openPayment();
    await serve();
    await Array.fromAsync(
      (await answer({ confirmed: true }, { answeredBy: { by: 'ann', via: 'rest' } })).events,
    );
    const said = (await picture()).session?.events.filter(({ author }) => author === 'user');
    expect(said?.map(({ customMetadata }) => customMetadata?.answeredBy)).toEqual([
      undefined,
      { by: 'ann', via: 'rest' },
    ]);
  });
});
