import { answerDigest, type CallRef, deadlinePassed, type PendingCall } from '@agentmesh/agent';
import { type Asked, giveToAgent, runFor } from './give-answer.ts';
import { hopHeaders } from './hop.ts';
import type { ServedAgent } from './serve-agent.ts';

/** How many overdue calls are looked at in one go. */
const pageSize = 100;
/** When a call is looked at again that cannot have its outcome now, in ms: another invocation is at work, or an answer is on its way. */
const laterMs = 5_000;

/** Gives calls whose deadline is over their outcome: nobody answered in time. */
export async function expireCalls(served: ServedAgent): Promise<void> {
  const { mesh, agent, stopping } = served;
  const { pending: calls } = mesh.sessions;
  for (let found = pageSize; found === pageSize && !stopping.aborted; ) {
    const overdue = await calls.overdue(agent.name, pageSize);
    found = overdue.length;
    for (const call of overdue) {
      try {
        await expireCall(served, call);
      } catch (error) {
        // One that cannot be ended must not keep the others waiting.
        mesh.log.warn({ err: error, callId: call.callId }, 'could not end an overdue call');
        await calls.postponeDeadline(agent.name, call, Date.now() + laterMs);
      }
    }
  }
}

async function expireCall(served: ServedAgent, call: CallRef): Promise<void> {
  const { mesh, agent } = served;
  const { pending: calls } = mesh.sessions;
  const { callId, ...ref } = call;
  const pending = await calls.get(call);
  const isOver = !pending || (await expire(served, { ref, callId, pending }));
  if (isOver) await calls.forgetDeadline(agent.name, call);
  else await calls.postponeDeadline(agent.name, call, Date.now() + laterMs);
}

/** @returns whether there is nothing more to be done: an answer that was claimed in time may still come to nothing */
async function expire(served: ServedAgent, asked: Asked & { pending: PendingCall }): Promise<boolean> {
  const { ref, callId, pending } = asked;
  const response = deadlinePassed(pending);
  const run = await runFor(served.mesh, asked, pending, 'deadline');
  const claim = {
    key: 'deadline',
    digest: answerDigest(response),
    callers: [pending.invocationId],
    run,
  };
  const { state } = await served.mesh.sessions.pending.accept({ ...ref, callId }, claim);
  if (state !== 'accepted' && state !== 'repeated') return state === 'unknown';
  await giveToAgent(served, asked, {
    run,
    response,
    update: { final: true },
    answeredBy: { by: served.agent.name, via: 'deadline' },
    headers: hopHeaders({}),
  });
  // Its run may be refused or cancelled; then the call is looked at once more.
  return false;
}
