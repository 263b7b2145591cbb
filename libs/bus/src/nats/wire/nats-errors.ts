import { MeshError } from '@agentmesh/protocol';
import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import {
  AuthorizationError,
  ClosedConnectionError,
  DrainingConnectionError,
  InvalidArgumentError,
  InvalidSubjectError,
  NoRespondersError,
  PermissionViolationError,
  RequestError,
  TimeoutError,
  UserAuthenticationExpiredError,
} from '@nats-io/nats-core';
import { closedError } from '../../bus/when-connected.ts';

export const provisionHint = "run the provisioning step ('provision' of @agentmesh/bus)";

/** What the NATS client threw, in our words. */
export function fromNats(thrown: unknown, doing: string): MeshError {
  if (thrown instanceof MeshError) return thrown;
  const error = rootCause(thrown);
  const options = { cause: thrown };
  if (error instanceof PermissionViolationError) {
    const verb = error.operation === 'publish' ? 'send to' : 'listen on';
    return new MeshError(
      'permission_denied',
      `this service may not ${verb} ${error.subject} (${doing})`,
      options,
    );
  }
  if (error instanceof AuthorizationError || error instanceof UserAuthenticationExpiredError) {
    return new MeshError('unauthenticated', 'the message server refuses the credentials', options);
  }
  if (error instanceof ClosedConnectionError || error instanceof DrainingConnectionError)
    return closedError();
  if (error instanceof InvalidSubjectError || error instanceof InvalidArgumentError) {
    return new MeshError('invalid_argument', `${doing}: ${error.message}`, options);
  }
  if (isMissing(error)) {
    return new MeshError('failed_precondition', `${doing}: ${error.message}; ${provisionHint}`, options);
  }
  if (error instanceof JetStreamApiError) return fromApi(error, doing);
  return new MeshError('unavailable', `${doing}: the message server gives no answer; try again`, options);
}

/** The client wraps what happened in a RequestError, sometimes. */
export function rootCause(thrown: unknown): unknown {
  return thrown instanceof RequestError && thrown.cause instanceof Error ? thrown.cause : thrown;
}

/** Code 503 on a request: nothing on the server listens there, JetStream included. */
export function isNobodyThere(thrown: unknown): boolean {
  if (rootCause(thrown) instanceof NoRespondersError) return true;
  // JetStream's client wraps it once more; the class of that is not exported.
  return thrown instanceof Error && rootCause(thrown.cause) instanceof NoRespondersError;
}

export function isTimeout(thrown: unknown): boolean {
  return rootCause(thrown) instanceof TimeoutError;
}

export function isDenied(thrown: unknown): boolean {
  return rootCause(thrown) instanceof PermissionViolationError;
}

/** No such stream or consumer. */
export function isMissing(error: unknown): error is JetStreamApiError {
  return (
    error instanceof JetStreamApiError &&
    (error.code === JetStreamApiCodes.StreamNotFound || error.code === JetStreamApiCodes.ConsumerNotFound)
  );
}

function fromApi(error: JetStreamApiError, doing: string): MeshError {
  const options = { cause: error };
  if (error.code === JetStreamApiCodes.JetStreamNotEnabledForAccount) return jetStreamOff(error);
  const full = /maximum|resources|insufficient/i.test(error.message);
  const code = full ? 'resource_exhausted' : error.status === 503 ? 'unavailable' : 'internal';
  return new MeshError(code, `${doing}: ${error.message}`, options);
}

export function jetStreamOff(cause: unknown): MeshError {
  return new MeshError(
    'failed_precondition',
    'JetStream is off for this user on the message server; start it with -js, or enable it for the account',
    { cause },
  );
}

/** Stream name in use with another configuration; consumer name in use; consumer already exists. */
const takenCodes = [10058, 10013, 10148];

/** Does the error say that a stream or consumer of this name is there already? */
export function isTaken(thrown: unknown): boolean {
  return thrown instanceof JetStreamApiError && takenCodes.includes(thrown.code);
}
