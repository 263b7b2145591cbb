/**
 * The properties of an error code: its meaning, whether a retry can help, and its numbers in HTTP and the
 * NATS services protocol.
 */
export interface ErrorKind {
  readonly meaning: string;
  /** Tells whether the same request may succeed later or at another replica. */
  readonly retryable: boolean;
  readonly httpStatus: number;
  /** `Nats-Service-Error-Code` of the NATS services protocol (ADR-32 of NATS). */
  readonly natsCode: number;
}

function kind(httpStatus: number, retryable: boolean, meaning: string): ErrorKind {
  return { meaning, retryable, httpStatus, natsCode: httpStatus };
}

/** The closed table of error codes: the codes of gRPC. A table in `docs/errors.md` is made from it. */
export const errorTable = {
  invalid_argument: kind(400, false, 'the request is not valid; correct it before you send it again'),
  unauthenticated: kind(401, false, 'the credentials are missing or wrong'),
  permission_denied: kind(403, false, 'the caller has no right to do this'),
  not_found: kind(404, false, 'there is no such agent, tool, app, session or artifact'),
  already_exists: kind(409, false, 'there is something with this id already'),
  failed_precondition: kind(412, false, 'the state of the system does not allow it; change the state first'),
  resource_exhausted: kind(429, true, 'the service is busy, or a rate or budget limit is reached'),
  cancelled: kind(499, false, 'the caller or an operator cancelled it'),
  internal: kind(
    500,
    false,
    'a defect in the mesh or in its agents and tools; the log of the service has the cause',
  ),
  unimplemented: kind(501, false, 'the server knows the request and does not offer it'),
  unavailable: kind(503, true, 'no replica answers, or a server cannot be reached'),
  deadline_exceeded: kind(504, false, 'the time given for the answer is over'),
  aborted: kind(409, true, 'another writer was faster, or has taken the work over'),
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof errorTable;

/** An error on the wire, without cause and stack. */
export interface WireError {
  code: ErrorCode;
  message: string;
  details?: Record<string, unknown>;
}

export interface MeshErrorOptions {
  details?: Record<string, unknown>;
  cause?: unknown;
}

/**
 * The only error class of the mesh. The message is lower case and says what to do. The cause is logged, but
 * never sent.
 */
export class MeshError extends Error {
  override readonly name = 'MeshError';
  readonly code: ErrorCode;
  readonly details: Record<string, unknown> | undefined;

  constructor(code: ErrorCode, message: string, options: MeshErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details;
  }

  get retryable(): boolean {
    return errorTable[this.code].retryable;
  }

  get httpStatus(): number {
    return errorTable[this.code].httpStatus;
  }

  toWire(): WireError {
    const { code, message, details } = this;
    return details === undefined ? { code, message } : { code, message, details };
  }

  /** Restores an error from the wire. An unknown code becomes `internal`. */
  static fromWire(wire: { code?: unknown; message?: unknown; details?: unknown }): MeshError {
    const { code: given } = wire;
    const code = typeof given === 'string' && Object.hasOwn(errorTable, given) ? given : 'internal';
    const message =
      typeof wire.message === 'string' ? wire.message : 'the callee sent an error without a message';
    const details = typeof wire.details === 'object' && wire.details !== null ? wire.details : undefined;
    return new MeshError(code as ErrorCode, message, details ? { details: { ...details } } : {});
  }

  /**
   * Converts a thrown value; the mesh has no other conversion. Returns a `MeshError` unchanged. An abort
   * becomes `cancelled`, a timeout `deadline_exceeded`. All else becomes `internal`, and its text stays in
   * the cause only.
   */
  static from(thrown: unknown, message = 'internal error'): MeshError {
    if (thrown instanceof MeshError) return thrown;
    if (thrown instanceof Error && thrown.name === 'AbortError') {
      return thrown.cause instanceof MeshError
        ? thrown.cause
        : new MeshError('cancelled', 'the call was cancelled', { cause: thrown });
    }
    if (thrown instanceof Error && thrown.name === 'TimeoutError') {
      return new MeshError('deadline_exceeded', 'the call took longer than its deadline', { cause: thrown });
    }
    return new MeshError('internal', message, { cause: thrown });
  }
}
