import type { PendingCall } from '@agentmesh/agent';
import { answerDigest, type CallRef, deadlinePassed, endOfRun } from '@agentmesh/agent/internal';
import { meshTime } from '@agentmesh/protocol';
import type { ServedAgent } from '../mesh/served-agent.ts';
import { hopHeaders } from '../messages/carrier.ts';
import { type LocatedCall, runFor, startAnswerRun } from './start-answer-run.ts';

/** Number of overdue calls that are read at a time. */
const pageSize = 100;
/** Number of runs that may end without taking the outcome in, for example because they were cancelled. */
const maxRuns = 10;

/**
 * Ends each call whose deadline is over: its outcome says that nobody answered in time.
 *
 * @param laterMs pause before a call is tried again, in ms: another invocation may be at work, or an answer
 * may be on its way
 */
export async function expireCalls(served: ServedAgent, laterMs: number): Promise<void> {
  const { mesh, agent, stopping } = served;
  const { pending: calls } = mesh.sessions;
  for (let count = pageSize; count === pageSize && !stopping.aborted; ) {
    const overdue = await calls.overdue(agent.name, pageSize);
    count = overdue.length;
    for (const call of overdue) {
      try {
        await expireCall(served, call, laterMs);
      } catch (error) {
        // A call that cannot be ended must not hold up the other calls.
        mesh.log.warn({ err: error, callId: call.callId }, 'could not end an overdue call');
        await calls.postponeDeadline(agent.name, call, meshTime() + laterMs);
      }
    }
  }
}

async function expireCall(served: ServedAgent, call: CallRef, laterMs: number): Promise<void> {
  const { mesh, agent } = served;
  const { pending: calls } = mesh.sessions;
  const { callId, ...ref } = call;
  const pending = await calls.get(call);
  const isOver = !pending || (await expire(served, { ref, callId, pending }));
  if (isOver) await calls.forgetDeadline(agent.name, call);
  else await calls.postponeDeadline(agent.name, call, meshTime() + laterMs);
}

/**
 * Ends one overdue call. @returns whether nothing is left to do: an answer that was accepted in time may
 * still fail to reach the agent
 */
async function expire(
  served: ServedAgent,
  located: LocatedCall & { pending: PendingCall },
): Promise<boolean> {
  const { mesh, agent } = served;
  const { ref, callId, pending } = located;
  const response = deadlinePassed(pending);
  const digest = answerDigest(response);
  // A run that has ended takes no outcome in. The next run has another name, the same at every replica.
  for (let n = 1; n <= maxRuns; n += 1) {
    const key = `deadline/${n}`;
    const run = await runFor(mesh, located, pending, key);
    const claim = { key, digest, callers: [pending.invocationId], run };
    const { state } = await mesh.sessions.pending.accept({ ...ref, callId }, claim);
    if (state !== 'accepted' && state !== 'repeated') return state === 'unknown';
    if (endOfRun(await mesh.sessions.invocations.get({ ...ref, ...run }), run.resume)) continue;
    await startAnswerRun(served, located, {
      run,
      response,
      update: { final: true },
      answeredBy: { by: agent.name, via: 'deadline' },
      headers: hopHeaders({}),
    });
    return false;
  }
  mesh.log.error(
    { callId, ...ref },
    'gave up ending an overdue call: none of its runs has taken the outcome in',
  );
  return true;
}
