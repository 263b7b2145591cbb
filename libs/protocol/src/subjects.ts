import { encodeToken } from './token.ts';

/** Which session is meant. */
export interface SessionRef {
  appName: string;
  userId: string;
  sessionId: string;
}

export type ServiceKind = 'agent' | 'tool';

/**
 * Every subject of the mesh in one namespace. Names and ids are encoded here and nowhere else; `*` may be given where a
 * permission or a subscription means all of them.
 */
export function subjects(namespace = 'mesh') {
  const root = `${encodeToken(namespace)}.v1`;
  const one = (name: string) => (name === '*' ? '*' : encodeToken(name));
  return {
    root,
    /** Run commands: a JetStream work queue. */
    agentRun: (agent: string) => `${root}.agent.${one(agent)}.run`,
    /** The agent as a tool: a request with a stream of frames. */
    agentAsk: (agent: string) => `${root}.agent.${one(agent)}.ask`,
    /** A call of a tool: a request with a stream of frames. */
    toolCall: (tool: string) => `${root}.tool.${one(tool)}.call`,
    /** Every event of one invocation, as it happens. */
    invocationEvent: (invocationId: string) => `${root}.invocation.${one(invocationId)}.event`,
    /** The committed events of one session, for other services. */
    sessionEvent: (ref: SessionRef) =>
      `${root}.session.${one(ref.appName)}.${one(ref.userId)}.${one(ref.sessionId)}.event`,
    /** The committed events of all sessions: what an auditor subscribes to and an agent may publish to. */
    allSessionEvents: `${root}.session.*.*.*.event`,
    /** The JetStream stream of all run commands, one durable consumer per agent. */
    runStream: `${encodeToken(namespace).toUpperCase()}_RUN`,
    /** The key-value bucket of cards. */
    cardBucket: `${encodeToken(namespace).toUpperCase()}_CARDS`,
    /** Durable consumer of one agent's run commands. */
    runConsumer: (agent: string) => encodeToken(agent),
    /** Key of a card in its bucket. */
    cardKey: (kind: ServiceKind, name: string) => `${kind}.${one(name)}`,
    /** Prefix of a service's own inboxes; its NATS user may subscribe below it and nowhere else. */
    inboxPrefix: (service: string) => `_INBOX_${encodeToken(service)}`,
  };
}

export type Subjects = ReturnType<typeof subjects>;
