import type { Event } from '@agentmesh/protocol';
import type { FunctionCall } from '@google/genai';
import { getFunctionCalls, getFunctionResponses, isFinalResponse } from '../event.ts';
import type { InvocationContext } from '../invocation-context.ts';
import { isOnBranch } from './contents.ts';

/** What an agent does next, as the log of the invocation says. */
export type Step =
  | { kind: 'call-model' }
  | { kind: 'call-tools'; calls: FunctionCall[] }
  | { kind: 'transfer'; to: string }
  | { kind: 'done' };

/**
 * Reads the next step from the committed events alone, so that any process can go on where another one stopped: nothing that
 * has its result in the log is done again.
 */
export function nextStep(context: InvocationContext): Step {
  const { session, agent, branch, invocationId, journalStart } = context;
  const events = session.events
    .slice(journalStart)
    .filter((event) => event.invocationId === invocationId && isOnBranch(event.branch, branch));
  const last = events.at(-1);
  if (last === undefined || last.author !== agent.name) return { kind: 'call-model' };
  const { transferToAgent } = last.actions;
  if (transferToAgent !== undefined) {
    return transferToAgent === agent.name
      ? { kind: 'call-model' }
      : { kind: 'transfer', to: transferToAgent };
  }
  if (getFunctionCalls(last).length > 0) {
    const calls = openCalls(last, events);
    return calls.length > 0 ? { kind: 'call-tools', calls } : { kind: 'done' };
  }
  if (getFunctionResponses(last).length > 0 && !isFinalResponse(last)) return { kind: 'call-model' };
  return { kind: 'done' };
}

function openCalls(event: Event, events: readonly Event[]): FunctionCall[] {
  const answered = new Set(events.flatMap(getFunctionResponses).map(({ id }) => id));
  return getFunctionCalls(event).filter(({ id }) => !answered.has(id));
}
