import type { Session } from '@agentmesh/agent';

/** A session as ADK's clients read it. */
export function sessionJson({ id, appName, userId, state, events, lastUpdateTime }: Session) {
  return { id, appName, userId, state, events, lastUpdateTime };
}
