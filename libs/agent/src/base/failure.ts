import { MeshError } from '@agentmesh/protocol';
import { isApiError } from '../schema/genai.ts';

/**
 * An exception of a tool, of a model or of a callback. After an exception of a tool or a model the agent
 * continues with its message; an exception of a callback goes to the caller of the runner. The stack is for the
 * operator of the process.
 */
export interface Failure {
  what: 'tool' | 'model' | 'callback';
  /** Name of the tool, of the model, or of the callback, such as `beforeToolCallback`. */
  name: string;
  agent: string;
  invocationId: string;
  sessionId: string;
  /** Name of the tool around whose call the callback is. */
  tool?: string;
  /** Id of the call, for a tool and for the callbacks around it. */
  callId?: string;
  error: unknown;
}

/**
 * A listener that receives each failure once, in the process in which it happened. A listener must not throw.
 */
export type OnFailure = (failure: Failure) => void;

/**
 * Prints a failure with its stack to stderr: the default of a runner in one process. Errors that a model's
 * server returns are skipped, because the event already holds them, and errors of callbacks, because the caller
 * of the runner gets them.
 */
export const printFailure: OnFailure = ({ what, name, agent, invocationId, callId, error }) => {
  if (isApiError(error) || what === 'callback') return;
  const call = callId === undefined ? '' : `, call ${callId}`;
  console.error(`${what} ${name} failed (agent ${agent}, invocation ${invocationId}${call}):`, error);
};

/** Returns a thrown value as an error. Code may throw anything, also a value that cannot be read. */
export function toError(thrown: unknown): Error {
  try {
    return thrown instanceof Error && typeof thrown.message === 'string'
      ? thrown
      : new Error(String(thrown), { cause: thrown });
  } catch {
    return new Error('it threw a value that has no text');
  }
}

/** Tells whether the error blames the caller. Wrong arguments from a model are not a defect of the tool. */
export function isCallersFault(error: unknown): boolean {
  return error instanceof MeshError && error.code === 'invalid_argument';
}
