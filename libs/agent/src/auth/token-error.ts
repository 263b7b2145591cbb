import { MeshError } from '@agentmesh/protocol';

/**
 * The error for a missing token: `unauthenticated` when the server refused, `unavailable` when the server
 * could not be reached or failed, `failed_precondition` when the tool's configuration is wrong. The error has
 * no cause, because the errors of the protocol's library hold codes and secrets.
 */
export class TokenError extends MeshError {
  /** True when the request was certainly not sent: its code can be sent again. */
  readonly isUnsent: boolean;

  constructor(
    code: 'unauthenticated' | 'unavailable' | 'failed_precondition',
    message: string,
    isUnsent = false,
  ) {
    super(code, message);
    this.isUnsent = isUnsent;
  }
}
