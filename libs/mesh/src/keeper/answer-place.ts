import { encodeToken, type SessionRef, shortId } from '@agentmesh/protocol';

/** Returns the place for which the answer to a question is sealed on its way to the agent that asked. */
export function answerPlace({ appName, userId, sessionId }: SessionRef, question: string): string {
  const session = [appName, userId, sessionId].map(encodeToken);
  return ['answer', ...session, shortId(question)].join(':');
}
