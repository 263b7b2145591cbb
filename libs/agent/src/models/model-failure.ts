import { MeshError } from '@agentmesh/protocol';
import { isApiError } from '../schema/genai.ts';

/**
 * Reads the code and the sentence from an error message. Clients of models put the whole response of the
 * server into it.
 */
function errorBodyOf(message: string): { code?: unknown; message?: unknown } {
  try {
    const body: unknown = JSON.parse(message);
    const error: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'error') : undefined;
    return typeof error === 'object' && error !== null ? error : {};
  } catch {
    return {};
  }
}

/** Returns the error fields of an event for an exception. */
export function describeFailure(error: unknown): { errorCode: string; errorMessage: string } {
  if (error instanceof MeshError) return { errorCode: error.code, errorMessage: error.message };
  const message = error instanceof Error ? error.message : String(error);
  const body = errorBodyOf(message);
  const code = isApiError(error) ? error.status : body.code;
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
  return error instanceof MeshError && ['aborted', 'cancelled', 'deadline_exceeded'].includes(error.code);
}
