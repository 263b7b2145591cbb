import type { SessionService } from '@agentmesh/agent';
import type { Bus } from '@agentmesh/bus';
import type { CallResults } from '@agentmesh/store';
import { intercept } from '@agentmesh/testing';

/** The protections that a test removes, to show that the checker notices. */
export const sabotages = ['no-fencing', 'no-dedupe', 'ack-first'] as const;
export type Sabotage = (typeof sabotages)[number];

interface Parts {
  bus: Bus;
  sessions: SessionService;
  callResults: CallResults;
}

/** Removes one protection from the parts of a service, from outside. */
export function sabotage(kind: Sabotage, { bus, sessions, callResults }: Parts): void {
  if (kind === 'no-fencing') forgetTokens(sessions);
  else if (kind === 'no-dedupe') forgetResults(callResults);
  else acknowledgeFirst(bus);
}

/** Lets a replica commit after it has lost its run. */
function forgetTokens(sessions: SessionService): void {
  intercept(
    sessions,
    'appendEvent',
    (call) =>
      ({ token: _token, ...request }) =>
        call(request),
  );
  intercept(sessions.invocations, 'countLlmCall', (call) => (ref) => call(ref));
  intercept(sessions.invocations, 'end', (call) => (ref, end) => call(ref, end));
}

/** Makes each call a new one. */
function forgetResults(results: CallResults): void {
  intercept(results, 'get', () => async () => undefined);
  intercept(results, 'take', () => async () => ({ state: 'taken' }));
  intercept(results, 'put', () => async (_tool, _callId, result) => result);
}

/** Acknowledges a run at its delivery, before the work on it. */
function acknowledgeFirst(bus: Bus): void {
  intercept(
    bus,
    'consumeRuns',
    (call) => (agent, handler, options) =>
      call(
        agent,
        async (item) => {
          void handler(item).catch(() => {});
          return { done: true };
        },
        options,
      ),
  );
}
