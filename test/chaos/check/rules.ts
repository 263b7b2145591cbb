import type { Found, History, Violation } from './history.ts';
import { type Model, modelOf } from './model.ts';
import { answeredOnce, oneResponse } from './rules/call-rules.ts';
import { deadLetters } from './rules/dead-letters.ts';
import { effectsOnce } from './rules/effects-once.ts';
import { endedOnce, unsettled } from './rules/ended-once.ts';
import { eventsOnce, withoutGap } from './rules/log-rules.ts';
import { noLostUpdate } from './rules/no-lost-update.ts';
import { inOrder, oneAtATime } from './rules/order-rules.ts';
import { ownAnswer } from './rules/own-answer.ts';
import { deletions, nothingLeft, workDone } from './rules/rest-rules.ts';
import { sawAllOnce } from './rules/saw-all-once.ts';
import { stateIsSum } from './rules/state-is-sum.ts';

/** The rules that each history must keep. */
export const rules = {
  'ended-once': endedOnce,
  'one-at-a-time': oneAtATime,
  'in-order': inOrder,
  'own-answer': ownAnswer,
  'no-lost-update': noLostUpdate,
  'state-is-sum': ({ history }) => stateIsSum(history),
  'without-gap': ({ history }) => withoutGap(history),
  'events-once': ({ history }) => eventsOnce(history),
  'effects-once': effectsOnce,
  'one-response': oneResponse,
  'answered-once': answeredOnce,
  'dead-letters': deadLetters,
  'saw-all-once': sawAllOnce,
  deletions,
  'nothing-left': nothingLeft,
  'work-done': workDone,
} satisfies Record<string, (model: Model) => Found[]>;

export type Rule = keyof typeof rules;

/**
 * The rules that also a history keeps in which Redis lost acknowledged writes (docs/reliability.md, "Failover of
 * Redis"): runs, ends and last events may be gone, and lost runs may begin again. What is left fits together, and each
 * client gets an end or "not found".
 */
const rulesAfterLoss = {
  ...{ 'one-at-a-time': oneAtATime, 'no-lost-update': noLostUpdate, 'answered-once': answeredOnce },
  'state-is-sum': rules['state-is-sum'],
  'without-gap': rules['without-gap'],
  'events-once': rules['events-once'],
  'nothing-hangs': ({ history }) => unsettled(history),
} satisfies Record<string, (model: Model) => Found[]>;

/** Returns all violations in a history; none when it keeps the rules. */
export function check(history: History): Violation[] {
  const model = modelOf(history);
  return Object.entries(history.hasLostWrites ? rulesAfterLoss : rules).flatMap(([rule, find]) =>
    find(model).map((violation) => ({ rule, ...violation })),
  );
}
