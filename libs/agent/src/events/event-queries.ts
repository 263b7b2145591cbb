import type { Event } from '@agentmesh/protocol';
import { getFunctionCalls, getFunctionResponses } from './event.ts';

/** Tells whether the event has a part that is a thought of the model. */
export function hasThoughts(event: Event): boolean {
  return event.content?.parts?.some(({ thought }) => thought === true) ?? false;
}

/** Tells whether the event ends with the result of code, about which the model has not spoken yet. */
export function hasTrailingCodeExecutionResult(event: Event): boolean {
  return event.content?.parts?.at(-1)?.codeExecutionResult !== undefined;
}

/** Finds the last event before `endIndex` that makes the call. */
export function findEventByFunctionCallId(
  events: readonly Event[],
  functionCallId: string,
  endIndex = events.length,
): Event | undefined {
  return events
    .slice(0, endIndex)
    .findLast((event) => getFunctionCalls(event).some(({ id }) => id === functionCallId));
}

/** Finds the event that made the call which the last event answers. */
export function findMatchingFunctionCall(events: readonly Event[]): Event | undefined {
  const last = events.at(-1);
  const id = last && getFunctionResponses(last)[0]?.id;
  return id === undefined ? undefined : findEventByFunctionCallId(events, id, events.length - 1);
}
