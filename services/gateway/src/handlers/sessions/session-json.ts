import type { Session } from '@agentmesh/agent';

/** A session as ADK's clients read it: `lastUpdateTime` in seconds, as ADK for Python answers and ADK's web UI expects. */
export function sessionJson({ id, appName, userId, state, events, lastUpdateTime }: Session) {
  return { id, appName, userId, state, events, lastUpdateTime: lastUpdateTime / 1_000 };
}
