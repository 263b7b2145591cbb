import type { StoredEvent } from '@agentmesh/agent/internal';
import type { SessionRef } from '@agentmesh/protocol';

/** A session in the store at the end of a run. */
export interface SessionHistory extends SessionRef {
  events: StoredEvent[];
  /** The state in all scopes, keys with their prefixes. */
  state: Record<string, unknown>;
  /** The initial state; undefined when it is unknown (the session of a call gets its caller's state). */
  initialState?: Record<string, unknown>;
  /** The id of the call to which the session of an agent used as a tool belongs. */
  callId?: string;
}

/** The events of one invocation that one client saw. */
export interface ClientView {
  /** The ids of committed events in the order of arrival, repetitions included. */
  seen: string[];
  /** Tells whether the client got the end. */
  finished: boolean;
  /** The number of reconnects. */
  reconnects: number;
}

export interface InvocationHistory extends SessionRef {
  invocationId: string;
  /** Tells whether the client saw the first byte of the answer. */
  acknowledged: boolean;
  status: 'running' | 'completed' | 'failed';
  client?: ClientView;
}

/** One execution of a counting tool. */
export interface Execution {
  tool: string;
  callId: string;
  /** The replica that executed the tool. */
  replica: string;
}

/** All data about a run of the mesh at its end. */
export interface History {
  sessions: SessionHistory[];
  invocations: InvocationHistory[];
  /** The executions, in order. */
  executions: Execution[];
  /** The call ids that the tools counted. Repeated work counts once. */
  counted: string[];
  /** The names of the tools that count. */
  countingTools: string[];
  /** The names of those that run in another process, which keeps each result by its call id. */
  onceTools: string[];
  /** The killed replicas. */
  killed: string[];
}

export interface Violation {
  rule: string;
  /** The session as `app/user/session`. */
  session?: string;
  invocationId?: string;
  what: string;
}

export const nameOf = ({ appName, userId, sessionId }: SessionRef) => `${appName}/${userId}/${sessionId}`;
