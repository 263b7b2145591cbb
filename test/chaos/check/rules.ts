import { endedOnce } from './ended-once.ts';
import { eventsOnce, withoutGap } from './log-rules.ts';
import type { History, Violation } from './old-history.ts';
import { sawAllOnce } from './saw-all-once.ts';
import { stateIsSum } from './state-is-sum.ts';
import { countedOnce, oneResponse } from './tool-rules.ts';

/** The rules that each history must keep. */
export const rules = {
  'ended-once': endedOnce,
  'without-gap': withoutGap,
  'events-once': eventsOnce,
  'one-response': oneResponse,
  'counted-once': countedOnce,
  'state-is-sum': stateIsSum,
  'saw-all-once': sawAllOnce,
} satisfies Record<string, (history: History) => Omit<Violation, 'rule'>[]>;

/** Returns all violations in a history; none when it keeps the rules. */
export function check(history: History): Violation[] {
  return Object.entries(rules).flatMap(([rule, find]) =>
    find(history).map((violation) => ({ rule, ...violation })),
  );
}
