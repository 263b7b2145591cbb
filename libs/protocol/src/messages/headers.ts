/** Header names on the wire. */
export const header = {
  traceparent: 'traceparent',
  tracestate: 'tracestate',
  /** Epoch ms after which nobody waits for the answer any more. */
  deadline: 'Mesh-Deadline',
  /** How many asks deep. */
  depth: 'Mesh-Depth',
  /** Who sends: for logs, never for permissions. */
  caller: 'Mesh-Caller',
  /** `frames` when the caller can read a stream of frames; without it, it gets one plain reply. */
  accept: 'Mesh-Accept',
  frame: 'Mesh-Frame',
  seq: 'Mesh-Seq',
  /** Of a run's delivery: what is done for it commits under this token, until a later delivery has taken over. */
  token: 'Mesh-Token',
  /** Of a run that continues an invocation: its id. What is done for it is told apart by it from what the invocation did before. */
  resume: 'Mesh-Resume',
  /** Which replica sends. */
  replica: 'Mesh-Replica',
  /** The payload was too large for a message: `<kind>.<object>.<bytes>` says where it lies. */
  claim: 'Mesh-Claim',
  messageId: 'Nats-Msg-Id',
  error: 'Nats-Service-Error',
  errorCode: 'Nats-Service-Error-Code',
} as const;

/** Asks may be nested this deep; it stops agents that ask each other for ever. */
export const maxDepth = 16;

/** Plain header map: one value per name. */
export type Headers = Record<string, string>;

/** Reads when nobody waits for the answer any more, epoch ms; undefined when no deadline was sent, or one that is no number. */
export function deadlineOf(headers: Headers): number | undefined {
  const deadline = Number(headers[header.deadline] || Number.NaN);
  return Number.isFinite(deadline) ? deadline : undefined;
}
