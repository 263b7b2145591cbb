import type { StoredEvent } from '@agentmesh/agent/internal';
import type { SessionRef } from '@agentmesh/protocol';

/** A session as it is in the store when all is over. */
export interface SessionHistory extends SessionRef {
  events: StoredEvent[];
  /** All scopes, keys with their prefixes. */
  state: Record<string, unknown>;
  /** The state it began with; undefined where nobody knows it (the session of a call gets its caller's). */
  initialState?: Record<string, unknown>;
  /** It belongs to the call of this id: an agent used as a tool. */
  callId?: string;
}

/** What one client saw of one invocation. */
export interface ClientView {
  /** Ids of committed events, in the order in which they came; one that came twice is in it twice. */
  seen: string[];
  /** It was told the end. */
  finished: boolean;
  /** How often it had to come back. */
  reconnects: number;
}

export interface InvocationHistory extends SessionRef {
  invocationId: string;
  /** The client saw the first byte of the answer. */
  acknowledged: boolean;
  status: 'running' | 'completed' | 'failed';
  client?: ClientView;
}

/** One time that a counting tool did its work. */
export interface Execution {
  tool: string;
  callId: string;
  /** Replica that did it. */
  replica: string;
}

/** All that is known of a run of the mesh when it is over. */
export interface History {
  sessions: SessionHistory[];
  invocations: InvocationHistory[];
  /** In order. */
  executions: Execution[];
  /** Call ids that the tools counted, each one once however often the work was done. */
  counted: string[];
  /** Names of the tools that count. */
  countingTools: string[];
  /** Those whose calls go to another process, where a result is kept by its call id. */
  onceTools: string[];
  /** Replicas that were killed. */
  killed: string[];
}

export interface Violation {
  rule: string;
  /** `app/user/session`. */
  session?: string;
  invocationId?: string;
  what: string;
}

export const nameOf = ({ appName, userId, sessionId }: SessionRef) => `${appName}/${userId}/${sessionId}`;
