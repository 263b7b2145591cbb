import type { AnsweredBy, Event } from '@agentmesh/protocol';
import type { FunctionResponse } from '@google/genai';
import { deadlinePassed } from '../events/deadlines.ts';
import { getFunctionCalls, getFunctionResponses } from '../events/event.ts';
import { questionNames, questionOf } from '../events/question.ts';

/** The source of an answer that a copy of a session holds in place of a person's answer. */
export const copied: AnsweredBy = { by: 'copy', via: 'deadline' };

/** The reason for which a call of the original does not go on in a copy. */
export const copiedReason = 'the session was copied; the call waits in the original';

/**
 * Lets the confirmations expire whose calls have not run: whoever imports a log may have written it, and a
 * call that runs needs a confirmation that was checked. A call has run when its response follows before
 * another invocation begins. A rewind that removes the response then removes the confirmation too.
 */
export function withoutLooseConfirmations(events: readonly Event[]): Event[] {
  const calls = confirmedCalls(events);
  return events.map((event, at) => {
    const loose = getFunctionResponses(event).filter(({ id = '' }) =>
      calls.get(id)?.some((callId) => !hasRun(events, at, callId)),
    );
    return event.author === 'user' && loose.length > 0 ? expireIn(event, loose) : event;
  });
}

/** Returns the calls that wait for each confirmation. A log may ask under one id more than once. */
function confirmedCalls(events: readonly Event[]): Map<string, string[]> {
  const calls = new Map<string, string[]>();
  for (const event of events)
    for (const call of getFunctionCalls(event)) {
      const question = questionOf(event, call);
      if (question?.name === questionNames.confirmation)
        calls.set(question.id, [...(calls.get(question.id) ?? []), question.callId]);
    }
  return calls;
}

function hasRun(events: readonly Event[], answeredAt: number, callId: string): boolean {
  const begun = new Set(events.slice(0, answeredAt + 1).map(({ invocationId }) => invocationId));
  for (const event of events.slice(answeredAt + 1)) {
    if (!begun.has(event.invocationId)) return false;
    if (getFunctionResponses(event).some(({ id, willContinue }) => id === callId && !willContinue))
      return true;
  }
  return false;
}

function expireIn(event: Event, loose: readonly FunctionResponse[]): Event {
  const response = { ...deadlinePassed({ kind: 'confirmation' }), error: copiedReason };
  const parts = event.content?.parts?.map((part) => {
    const { functionResponse: answer } = part;
    return answer && loose.includes(answer) ? { functionResponse: { ...answer, response } } : part;
  });
  return {
    ...event,
    content: { ...event.content, ...(parts && { parts }) },
    customMetadata: { ...event.customMetadata, answeredBy: copied },
  };
}
