import { answerDigest, deadlinePassed, type PendingCall } from '@agentmesh/agent';
import { type Asked, giveToAgent, runFor } from './give-answer.ts';
import { hopHeaders } from './hop.ts';
import type { ServedAgent } from './serve-agent.ts';

/** How many overdue calls are looked at in one go. */
const sweepSize = 100;

/** Gives calls whose deadline is over their outcome: nobody answered in time. */
export async function expireCalls(served: ServedAgent): Promise<void> {
  const { mesh, agent } = served;
  const { pending: calls } = mesh.sessions;
  for (const { callId, ...ref } of await calls.overdue(agent.name, sweepSize)) {
    const pending = await calls.get({ ...ref, callId });
    const asked = { ref, callId, pending };
    if (!pending || (await expire(served, { ...asked, pending }))) {
      await calls.forgetDeadline(agent.name, { ...ref, callId });
    }
  }
}

/** @returns whether there is nothing more to be done */
async function expire(served: ServedAgent, asked: Asked & { pending: PendingCall }): Promise<boolean> {
  const { ref, callId, pending } = asked;
  const response = deadlinePassed(pending);
  const run = await runFor(served.mesh, asked, pending, 'deadline');
  const claim = { key: 'deadline', digest: answerDigest(response), run };
  const { state } = await served.mesh.sessions.pending.accept({ ...ref, callId }, claim);
  if (state === 'busy') return false;
  if (state === 'accepted' || state === 'repeated') {
    await giveToAgent(served, asked, {
      run,
      response,
      update: { final: true },
      answeredBy: { by: served.agent.name, via: 'deadline' },
      headers: hopHeaders({}),
    });
  }
  return true;
}
