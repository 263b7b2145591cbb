import type { RandomPlan } from './random-history.ts';
import type { Result } from './simulate.ts';

/** Writes a history for a person: its faults, its trace, its logs, what clients know, and the verdict. */
export function* describe({ scenario, faults, seed }: RandomPlan, result: Result): Generator<string> {
  const { history, lines, hash, violations } = result;
  yield `scenario ${scenario.name}, seed ${seed}, replicas ${JSON.stringify(scenario.replicas)}`;
  for (const { user, bursts } of scenario.visits) yield `visit of ${user}: ${JSON.stringify(bursts)}`;
  yield `faults: ${JSON.stringify(faults)}`;
  yield* lines;
  for (const { sessionId, deleted, events } of history.sessions) {
    yield `session ${sessionId}${deleted ? ' (deleted)' : ''}`;
    for (const { seq, event } of events) {
      const { invocationId, author, content, errorCode = '' } = event;
      yield `  ${seq} ${invocationId} ${author} ${errorCode} ${JSON.stringify(content?.parts ?? []).slice(0, 200)}`;
    }
  }
  for (const { view, ...message } of history.messages)
    yield `message ${JSON.stringify({ ...message, ends: view?.ends })}`;
  for (const act of history.acts) yield `act ${JSON.stringify(act)}`;
  for (const record of history.invocations) yield `record ${JSON.stringify(record)}`;
  for (const execution of history.executions) yield `effect ${JSON.stringify(execution)}`;
  yield `rest ${JSON.stringify(history.rest)}`;
  yield `hash ${hash}`;
  for (const { rule, what } of violations) yield `${rule}: ${what}`;
}
