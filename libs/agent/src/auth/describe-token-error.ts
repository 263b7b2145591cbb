import { MeshError } from '@agentmesh/protocol';
import {
  AuthorizationResponseError,
  HTTP_REQUEST_FORBIDDEN,
  OperationProcessingError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'oauth4webapi';
import { TokenError } from './token-error.ts';

/** Codes of failures before the request was sent: of a name, a route, a connection. */
const unsentCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Statuses besides 5xx, and codes of RFC 6749 §4.1.2.1, by which a server says that it cannot answer now. */
const passingStatuses = new Set([408, 425, 429]);
const passingCodes = new Set(['temporarily_unavailable', 'server_error']);
const passes = (status: number, code = '') =>
  status >= 500 || passingStatuses.has(status) || passingCodes.has(code);

/**
 * Describes an error while fetching a credential in our own words; a {@link MeshError} passes unchanged.
 *
 * @param isBefore true when the failed request holds no secret
 */
export function tokenError(what: string, thrown: unknown, isBefore = false): MeshError {
  if (thrown instanceof MeshError) return thrown;
  if (thrown instanceof AuthorizationResponseError)
    return refused(`the sign-in was not granted (${word(thrown.error)})`);
  if (thrown instanceof ResponseBodyError) {
    return passes(thrown.status, thrown.error)
      ? failed(what, thrown.status, isBefore)
      : refused(`the authorization server refused ${what} (${word(thrown.error)})`);
  }
  if (thrown instanceof WWWAuthenticateChallengeError)
    return refused('the authorization server refused the client: its id or secret is wrong');
  if (thrown instanceof OperationProcessingError) {
    return thrown.code === HTTP_REQUEST_FORBIDDEN ? insecureAddress() : brokenAnswer(what, thrown, isBefore);
  }
  const code = codeOf(thrown);
  const isUnsent = isBefore || unsentCodes.has(code);
  return new TokenError(
    'unavailable',
    `the authorization server could not be reached for ${what} (${word(code)}); try again later`,
    isUnsent,
  );
}

export function insecureAddress(): TokenError {
  return refused('secrets go to https addresses alone, or to this machine; change the endpoint');
}

function refused(message: string): TokenError {
  return new TokenError('unauthenticated', message);
}

function failed(what: string, status: number, isBefore: boolean): TokenError {
  const message = `the authorization server failed at ${what} (status ${status}); try again later`;
  return new TokenError('unavailable', message, isBefore);
}

/**
 * Makes the error for a response that does not follow the protocol. A server that has failed may answer 5xx
 * in any form. The library's words name the field and hold no values.
 */
function brokenAnswer(
  what: string,
  { cause, message }: OperationProcessingError,
  isBefore: boolean,
): TokenError {
  const status = cause instanceof Response ? cause.status : 0;
  if (passes(status)) return failed(what, status, isBefore);
  return refused(`the answer of the authorization server to ${what} is not valid: ${message}`);
}

function codeOf(thrown: unknown): string {
  const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown;
  const { code, name } = (cause ?? {}) as { code?: unknown; name?: unknown };
  return String(code ?? name ?? 'unknown');
}

/** Checks a server's error code: it must look like a code, as a server may send any text instead. */
function word(code: string): string {
  return /^[\w .-]{1,64}$/.test(code) ? code : 'unknown error';
}
