/** The parts of a {@link MeshClientError} besides its message. */
export interface ErrorFacts {
  code: string;
  status?: number | undefined;
  retryAfter?: number | undefined;
  details?: Record<string, unknown> | undefined;
  traceId?: string | undefined;
  invocationId?: string | undefined;
  cause?: unknown;
}

/** Codes of errors after which the same request may succeed later. */
const passing = ['unavailable', 'resource_exhausted', 'aborted'];

/** An error of a gateway or of a run, or a gateway that cannot be reached (`unavailable`). */
export class MeshClientError extends Error {
  override readonly name = 'MeshClientError';
  /** A code of the table of errors, such as `not_found` or `permission_denied`. */
  readonly code: string;
  /** The status of the answer; undefined for the failure of a run, and when no answer came. */
  readonly status: number | undefined;
  /** The time after which the next try makes sense, in s, if the gateway has named one. */
  readonly retryAfter: number | undefined;
  readonly details: Record<string, unknown> | undefined;
  /** The id by which an operator finds the error in the logs. */
  readonly traceId: string | undefined;
  readonly invocationId: string | undefined;

  constructor(message: string, facts: ErrorFacts) {
    super(message, { cause: facts.cause });
    this.code = facts.code;
    this.status = facts.status;
    this.retryAfter = facts.retryAfter;
    this.details = facts.details;
    this.traceId = facts.traceId;
    this.invocationId = facts.invocationId;
  }

  /** Tells whether the same request may succeed later. */
  get isPassing(): boolean {
    return passing.includes(this.code);
  }
}

/** Makes an error of a body or a frame of the gateway. */
export function errorFrom(body: unknown, facts: Partial<ErrorFacts> = {}): MeshClientError {
  const { error, code, details, traceId, invocationId } = (body ?? {}) as Record<string, unknown>;
  const textIn = (value: unknown) => (typeof value === 'string' ? value : undefined);
  const { status } = facts;
  const message = textIn(error) ?? `the answer has status ${status} and comes from no gateway; check the url`;
  return new MeshClientError(message, {
    ...{ code: textIn(code) ?? codeOf(status), traceId: textIn(traceId), invocationId: textIn(invocationId) },
    details: details as Record<string, unknown> | undefined,
    ...facts,
  });
}

/** A proxy before the gateways answers with a status alone. */
function codeOf(status: number | undefined): string {
  if (status === 429) return 'resource_exhausted';
  return status === 502 || status === 503 || status === 504 ? 'unavailable' : 'internal';
}
