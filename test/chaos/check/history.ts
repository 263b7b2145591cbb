import type { StoredEvent } from '@agentmesh/agent/internal';
import type { ClientInput, SessionRef } from '@agentmesh/protocol';

/**
 * Returns the time in ms of the machine's monotonic clock. All processes of one machine share this clock, and
 * no jump of the wall clock changes it. All times of a history come from here.
 */
export const now = (): number => Number(process.hrtime.bigint()) / 1e6;

/** A time span, in ms of {@link now}. */
export type Span = [from: number, to: number];

/** The key of the counter that the local counting tool raises by one: it reads the state and writes it back. */
export const counterKey = 'count';

/** The end of a run. A failure has an error code of the mesh. */
export interface Ending {
  /** The id of the run, for a run that continues its invocation. */
  resume?: string;
  status: 'completed' | 'failed';
  code?: string;
}

/** An end that a client was told, or that was published as news. */
export interface ToldEnd extends Ending {
  at: number;
}

/** The outcome, or the progress, that a message gives to a pending call. */
export interface GivenAnswer {
  callId: string;
  response: unknown;
  /** True for progress: the call stays pending. */
  willContinue?: boolean;
}

/** One message or answer that a client sent: one try to begin a run. A repeated try is another message. */
export interface Message {
  /** A unique id. */
  id: string;
  /** The id of the first try, for a message that is a further try. */
  repeats?: string;
  session: SessionRef;
  via: 'http' | 'nats';
  kind: 'message' | 'answer';
  /** The kind of the operation for which the message asks. */
  op: string;
  /** The text of the message. No two messages to one session have the same text. */
  text?: string;
  answers?: GivenAnswer[];
  whenBusy: 'enqueue' | 'reject' | 'interrupt';
  stateDelta?: Record<string, unknown>;
  client?: ClientInput;
  deadlineMs?: number;
  sentAt: number;
  /**
   * The time at which the client knew that the message was accepted: the header of a 200, or the
   * acknowledgement of JetStream. Absent when the client knows nothing.
   */
  acceptedAt?: number;
  /**
   * Set when the sender was told that no run begins: a 4xx without an invocation id. After a 5xx or a lost
   * connection the sender knows nothing, and a run that ended with a failure is not refused.
   */
  refused?: { code: string };
  invocationId?: string;
  /** The id of the run, for an answer that continues its invocation. */
  resume?: string;
  /** The possible texts of the run's last words; each last word of a completed run is one of them. */
  expected?: string[];
  /**
   * The number by which the run raises the counter {@link counterKey} when it completes; absent when the sender
   * does not know.
   */
  counts?: number;
  /** The code of the dead letter that the message provokes on purpose. */
  deadLetter?: string;
  /**
   * The view of the client that sent the message; absent for a sender that does not listen. A client that left
   * for good before the end has a view with `left`.
   */
  view?: ClientView;
}

/** One connection of a client: its first one, or one of its reconnects. */
export interface Connection {
  at: number;
  /** The ids of the committed events that came through this connection. */
  seen: string[];
  /** True when this connection told the end. */
  ended: boolean;
}

/** The part of one run that one client saw. */
export interface ClientView {
  /** The ids of committed events in the order of arrival, repetitions included, over all connections. */
  seen: string[];
  /** The text of each event in `seen`; '' for an event without text. */
  texts: string[];
  /** Tells whether the client was told the end. */
  finished: boolean;
  /**
   * All ends that the client was told, in order, repetitions included. An error frame of a gateway that lost
   * its stream is no end: the client comes back and asks for the status.
   */
  ends: ToldEnd[];
  /** The number of reconnects. */
  reconnects: number;
  connections: Connection[];
  /** True when the client stopped listening before the end and did not come back. */
  left?: boolean;
}

/** One act of a client that is not a message. */
export interface Act {
  /** `create` only for the creation of a session under the id of a deleted one. */
  kind: 'cancel' | 'delete' | 'create' | 'fork' | 'rewind';
  session: SessionRef;
  /** The cancelled invocation; the invocation before which a rewind or a fork cuts. */
  invocationId?: string;
  /** The cancelled run, for a run that continues its invocation. */
  resume?: string;
  /** The session that a fork made. */
  forkId?: string;
  sentAt: number;
  /** The time of the answer; absent without an answer. */
  doneAt?: number;
  /** `unknown` when no answer came: the act was carried out or not. */
  outcome: 'done' | 'refused' | 'unknown';
  /** The code of a refusal. */
  code?: string;
}

/** A call that `/pending` shows. */
export interface PendingHistory {
  callId: string;
  kind: string;
  /** Epoch ms. */
  deadline?: number;
  /** True when the call belongs to a job that is not over. */
  hasJob?: boolean;
}

/** A session in the store at the end of a run. */
export interface SessionHistory extends SessionRef {
  events: StoredEvent[];
  /** The state in all scopes, keys with their prefixes. */
  state: Record<string, unknown>;
  /** The initial state; undefined when it is unknown (the session of a call gets its caller's state). */
  initialState?: Record<string, unknown>;
  /** The id of the call to which the session of an agent used as a tool belongs. */
  callId?: string;
  /** True when the store does not have the session any more. It has no events then. */
  deleted?: boolean;
  /** The session of which this one is a copy. */
  forkOf?: SessionRef;
  /** The invocations whose events a copy has from its original. */
  copied?: string[];
  pending: PendingHistory[];
}

/** The record of an invocation at the end of a run. */
export interface InvocationHistory extends SessionRef {
  invocationId: string;
  status: 'running' | 'completed' | 'failed';
  /** The recorded ends of all its runs. */
  ends: Ending[];
  /** The reason of its cancellation. */
  cancelled?: string;
}

/** An end that was published to the watchers of an invocation; a repetition is in the list again. */
export interface EndNews extends ToldEnd {
  invocationId: string;
}

/** One execution of a counting tool. */
export interface Execution {
  tool: string;
  callId: string;
  invocationId: string;
  /** The place of the process: `add_remote/1`. */
  replica: string;
  /** The process: `add_remote/1#3`. */
  life: string;
  /** The time just before the effect. */
  beganAt: number;
  /** The time at which the tool returned; absent when it never did. */
  endedAt?: number;
}

/** One process of our own. */
export interface Life {
  replica: string;
  life: string;
  startedAt: number;
  diedAt?: number;
  /** The times in which it was stopped (SIGSTOP). */
  pauses: Span[];
  /** The times in which it could reach neither NATS nor Redis. */
  cutOffs: Span[];
  /** The times in which a cancellation was on its way to it. Only the simulation knows them. */
  unaware: Span[];
}

export interface Fault {
  at: number;
  /** For example `kill`, `pause`, `term`, `cut`, `delay`, `full`. */
  kind: string;
  /** The replica or server. */
  target: string;
  forMs?: number;
}

/** The content of a stream at rest. */
export interface StreamRest {
  name: string;
  /** The number of messages that wait, or that the server keeps and does not deliver. */
  messages: number;
  ackPending: number;
}

export interface DeadLetter {
  subject: string;
  code: string;
  message: string;
  /** The original message as text. */
  payload: string;
}

/** All data outside the sessions when all work has ended. Keys and objects have their full names. */
export interface Rest {
  streams: StreamRest[];
  redis: {
    /** The sessions that an invocation holds. */
    holders: string[];
    waitingRuns: string[];
    /** The claims on calls of remote tools without a result. */
    claims: string[];
    /** The jobs that are not over. */
    jobs: string[];
    orphanKeys: string[];
  };
  deadLetters: DeadLetter[];
  /** The objects in the buckets of large payloads. */
  objects: string[];
}

/** The observations of the harness while the mesh worked. The stores know none of them. */
export interface Observations {
  messages: Message[];
  acts: Act[];
  news: EndNews[];
  lives: Life[];
  faults: Fault[];
}

/** All data about a run of the mesh at its end. */
export interface History extends Observations {
  sessions: SessionHistory[];
  invocations: InvocationHistory[];
  /** The executions, in the order of their beginnings. */
  executions: Execution[];
  /** The names of the tools that count. */
  countingTools: string[];
  /** The names of those that run in another process, which keeps each result by its call id. */
  onceTools: string[];
  rest: Rest;
  /** The descriptions of the work that had not ended in time. */
  unsettled: string[];
  /** The least share of the messages whose runs must be completed, from 0 to 1; cancelled and refused ones do not count. */
  leastShare: number;
  /**
   * The time after its deadline in which a run may still begin an effect, in ms: seconds in virtual time; on a busy
   * machine a process notices its deadline late.
   */
  deadlineSlackMs: number;
  /** True when Redis lost writes that it had acknowledged; default false. */
  hasLostWrites?: boolean;
}

export interface Violation {
  rule: string;
  /** The session as `app/user/session`. */
  session?: string;
  invocationId?: string;
  what: string;
}

/** A violation without its rule. */
export type Found = Omit<Violation, 'rule'>;

export const nameOf = ({ appName, userId, sessionId }: SessionRef) => `${appName}/${userId}/${sessionId}`;
