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

export const provisionHint = "run the provisioning step ('agentmesh provision <definitions>')";

/** JetStream of a server whose disk is full stops, and answers nothing any more. */
export const fullHint = 'see its log: JetStream stops when its disk is full';

/** Turns an error of the NATS client into a MeshError. */
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
  if (isRefusal(error)) {
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
  return new MeshError(
    'unavailable',
    `${doing}: the message server gives no answer; try again; if it stays so, ${fullHint}`,
    options,
  );
}

/**
 * Tells whether a server refused the credentials. A server under load that takes too long to read them says so by the
 * same class of the client; the next try may succeed.
 */
export function isRefusal(thrown: unknown): boolean {
  const error = rootCause(thrown);
  if (error instanceof UserAuthenticationExpiredError) return true;
  return error instanceof AuthorizationError && !/authentication timeout/i.test(error.message);
}

/** Returns the cause of an error that the client has wrapped in a RequestError, else the error itself. */
export function rootCause(thrown: unknown): unknown {
  return thrown instanceof RequestError && thrown.cause instanceof Error ? thrown.cause : thrown;
}

/** Tells whether a request failed with code 503: nothing on the server listens there, JetStream included. */
export function isNobodyThere(thrown: unknown): boolean {
  if (rootCause(thrown) instanceof NoRespondersError) return true;
  // The client of JetStream wraps the error once more, in a class that it does not export.
  return thrown instanceof Error && rootCause(thrown.cause) instanceof NoRespondersError;
}

/**
 * Tells whether a message was refused because the servers of a cluster store another one with its id at the
 * moment: an earlier try, whose acknowledgement was lost. Has no code of its own in the client.
 */
export function isBeingStored(thrown: unknown): boolean {
  return thrown instanceof JetStreamApiError && /duplicate message id is in process/.test(thrown.message);
}

/** The codes of JetStream for a message that expected another sequence number; the second where it is not known. */
const wrongSequenceCodes: readonly number[] = [
  JetStreamApiCodes.StreamWrongLastSequence,
  JetStreamApiCodes.StreamWrongLastSequenceUnknown,
];

/** Tells whether a message was to be the only one of its subject, and is not for certain. */
export function isNotAlone(thrown: unknown): boolean {
  return thrown instanceof JetStreamApiError && wrongSequenceCodes.includes(thrown.code);
}

export function isTimeout(thrown: unknown): boolean {
  return rootCause(thrown) instanceof TimeoutError;
}

/** Tells whether a stream or consumer does not exist. */
export function isMissing(error: unknown): error is JetStreamApiError {
  return (
    error instanceof JetStreamApiError &&
    (error.code === JetStreamApiCodes.StreamNotFound || error.code === JetStreamApiCodes.ConsumerNotFound)
  );
}

/** The code of JetStream for a consumer whose filter is no subject of its stream. */
const noSubsetCode = 10093;

/** Tells whether a consumer was refused because its stream does not have its subject. */
export function isNoSubset(thrown: unknown): boolean {
  return thrown instanceof JetStreamApiError && thrown.code === noSubsetCode;
}

/** The codes of JetStream for: no resources of the server; no storage of the server; limit of the account. */
const spaceCodes = [10023, 10047, 10002];

function fromApi(error: JetStreamApiError, doing: string): MeshError {
  const options = { cause: error };
  if (error.code === JetStreamApiCodes.JetStreamNotEnabledForAccount) return jetStreamOff(error);
  const full = /maximum|resources|insufficient|no space/i.test(error.message);
  const hasNoSpace = spaceCodes.includes(error.code) || /no space/i.test(error.message);
  const code = full ? 'resource_exhausted' : error.status === 503 ? 'unavailable' : 'internal';
  const advice = hasNoSpace
    ? '; JetStream has no space left: free the disk of nats-server, or raise its limit (max_file_store, or that of the account)'
    : '';
  return new MeshError(code, `${doing}: ${error.message}${advice}`, options);
}

export function jetStreamOff(cause: unknown): MeshError {
  return new MeshError(
    'failed_precondition',
    'JetStream is off for this user on the message server; start it with -js, or enable it for the account',
    { cause },
  );
}

/**
 * The codes of JetStream for: stream name in use with another configuration; consumer name in use; consumer
 * already exists.
 */
const takenCodes = [10058, 10013, 10148];

/** Tells whether the error says that a stream or consumer with this name exists already. */
export function isTaken(thrown: unknown): boolean {
  return thrown instanceof JetStreamApiError && takenCodes.includes(thrown.code);
}

const wrongLastSequence = 10071;

/** Tells whether a stream refused a message, because the last one of its subject has another number than expected. */
export function isWrongSequence(thrown: unknown): boolean {
  return thrown instanceof JetStreamApiError && thrown.code === wrongLastSequence;
}
