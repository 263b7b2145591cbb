import { MeshError } from '@agentmesh/protocol';
import { ReaderGone } from '../../events/emit.ts';
import { type ErrorBody, isRecord, readErrorBody } from './error-body.ts';

/** The status and the words of a failed request to a model. */
export interface ModelFailure {
  /** The status of HTTP; undefined when there was no answer. */
  status: number | undefined;
  body: Partial<ErrorBody>;
}

/**
 * Reads the status and the server's words from an error of a client of models, of any copy of the library. The
 * client of Gemini puts the whole body into the message, that of OpenAI into `error`.
 */
export function readFailure(error: unknown): ModelFailure {
  if (!(error instanceof Error)) return { status: undefined, body: {} };
  const given: unknown = Reflect.get(error, 'error');
  const isJson = error.message.startsWith('{') || error.message.startsWith('[');
  return {
    status: statusIn(error),
    body: isRecord(given) ? given : (isJson && readErrorBody(error.message)) || {},
  };
}

/** Returns the status of HTTP in an error, by the names of the usual clients. */
function statusIn(error: object): number | undefined {
  const { status, statusCode, response, $metadata } = error as Record<string, unknown>;
  const inner = [response, $metadata].filter(isRecord);
  const named = [status, statusCode, ...inner.flatMap((each) => [each.status, each.httpStatusCode])];
  return named.find((each) => typeof each === 'number');
}

/** Returns the error fields of an event for an exception. */
export function describeFailure(error: unknown): { errorCode: string; errorMessage: string } {
  if (error instanceof MeshError) return { errorCode: error.code, errorMessage: error.message };
  const message = error instanceof Error ? error.message : String(error);
  const { status, body } = readFailure(error);
  const code = status ?? body.code;
  return {
    errorCode:
      typeof code === 'number' || (typeof code === 'string' && code) ? String(code) : 'UNKNOWN_ERROR',
    errorMessage: typeof body.message === 'string' && body.message ? body.message : message,
  };
}

/**
 * Tells whether the error of an agent ends the invocation, and not only this agent: the process of a remote agent may
 * learn of a cancellation, a deadline or a takeover before this one does.
 */
export function endsInvocation(error: unknown): boolean {
  if (error instanceof ReaderGone) return true;
  return error instanceof MeshError && ['aborted', 'cancelled', 'deadline_exceeded'].includes(error.code);
}
