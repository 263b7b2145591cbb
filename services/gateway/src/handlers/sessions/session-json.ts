import type { Session } from '@agentmesh/agent';

/**
 * Returns a session in the form of ADK's clients: `lastUpdateTime` in seconds, as ADK for Python answers and
 * ADK's web UI expects.
 */
export function sessionJson({ id, appName, userId, state, events, lastUpdateTime }: Session) {
  return { id, appName, userId, state, events, lastUpdateTime: lastUpdateTime / 1_000 };
}
