/** The names of headers on the wire. */
export const header = {
  traceparent: 'traceparent',
  tracestate: 'tracestate',
  /** The deadline, in epoch ms, after which nobody waits for the answer. */
  deadline: 'Mesh-Deadline',
  /** The depth of nested asks. */
  depth: 'Mesh-Depth',
  /** The service that sends; used for logs, never for permissions. */
  caller: 'Mesh-Caller',
  /**
   * `frames` when the caller reads a stream of frames; without it the caller gets one plain reply. `stats` on a
   * ping for the counters of each replica, without the text of an error.
   */
  accept: 'Mesh-Accept',
  frame: 'Mesh-Frame',
  seq: 'Mesh-Seq',
  /** The status with which the run of an event has ended, on its last event: `completed`. */
  end: 'Mesh-End',
  /**
   * The fencing token of a run's delivery. All work for the delivery commits under it, until a later delivery
   * takes over.
   */
  token: 'Mesh-Token',
  /**
   * The id of a run that continues an invocation. It separates the work of this run from earlier work of the
   * invocation.
   */
  resume: 'Mesh-Resume',
  /** The run of a command: app, user, session, invocation, and the id of a run that continues it, each as a token. */
  run: 'Mesh-Run',
  /** The time, in epoch ms, since which a run has waited for its session, or for the share of its user. */
  waitsSince: 'Mesh-Waits-Since',
  /** The signed identity of the caller who began the run, for all messages of the run. */
  identity: 'Mesh-Identity',
  /** The signed source of the answers in the message of a run command, for this run alone. */
  answeredBy: 'Mesh-Answered-By',
  /** The holder of a call or job, on a ping that asks the replica whether it is still at this work. */
  holder: 'Mesh-Holder',
  /** The replica that sends. */
  replica: 'Mesh-Replica',
  /** The claim of a payload that is too large for a message, and the key to it: `<kind>.<object>.<bytes>.<key>`. */
  claim: 'Mesh-Claim',
  messageId: 'Nats-Msg-Id',
  error: 'Nats-Service-Error',
  errorCode: 'Nats-Service-Error-Code',
} as const;

/**
 * The header of a message that the broker stores only while it has no other message of the subject; its value is 0.
 * A consumer that finds it knows that no earlier message of the subject was left. It is spelt as NATS spells it: in
 * any other spelling the server does not check it, so it is not among {@link header}, whose names have no case.
 */
export const aloneHeader = 'Nats-Expected-Last-Subject-Sequence';

/** The largest depth of nested asks. It stops agents that ask each other without end. */
export const maxDepth = 16;

/** Headers with one value per name. */
export type Headers = Record<string, string>;

/** Reads the deadline, in epoch ms. Returns undefined when the header is absent or not a number. */
export function deadlineOf(headers: Headers): number | undefined {
  const deadline = Number(headers[header.deadline] || Number.NaN);
  return Number.isFinite(deadline) ? deadline : undefined;
}
