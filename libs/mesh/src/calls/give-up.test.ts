import { MeshError, type ToolCall } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { memoryMesh } from '../harness.fixture.ts';
import { jobOf } from './call-key.ts';
import { giveUp } from './give-up.ts';

const call: ToolCall & { callId: string } = {
  ...{ callId: 'c1', args: {}, answers: 0 },
  context: {
    ...{ app: 'app', user: 'ann', session: 's1', invocationId: 'e1', agent: 'solo', state: {} },
    operationSubject: 'mesh.v1.operation.solo.c1.tool_work',
  },
};
const job = jobOf(call, call.callId);
const ticket = { response: { status: 'pending', ticket: 7 }, isLastWord: false };

/** Gives up the call of a job that a worker has ended. */
async function givenUp(result: object, { isFollowed }: { isFollowed: boolean }) {
  const { jobs, connect } = memoryMesh();
  await jobs.take('work', job, 'worker', 1_000);
  if (isFollowed) await jobs.follow('work', job, 0);
  await jobs.finish('work', job, result);
  const mesh = await connect('agent_solo');
  return await giveUp(mesh, { tool: 'work', isJob: true }, call, new MeshError('unavailable', 'silence'));
}

describe('a caller that gives up a job which has ended meanwhile', () => {
  it('gets no ticket that an update tells: it would wake the agent twice', async () => {
    const interim = { response: { status: 'pending' }, isLastWord: false };
    expect(await givenUp(ticket, { isFollowed: false })).toEqual({ state: 'done', result: interim });
  });

  it('gets the ticket that nobody else tells', async () => {
    expect(await givenUp(ticket, { isFollowed: true })).toEqual({ state: 'done', result: ticket });
  });

  it('gets a final result in any case', async () => {
    const final = { response: { status: 'completed' }, isLastWord: true };
    expect(await givenUp(final, { isFollowed: false })).toEqual({ state: 'done', result: final });
  });
});
