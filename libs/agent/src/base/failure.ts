import { MeshError } from '@agentmesh/protocol';
import { ApiError } from '@google/genai';

/**
 * An exception of a tool or of a model. The agent continues with the message of the exception; the stack is
 * for the operator of the process.
 */
export interface Failure {
  what: 'tool' | 'model';
  /** Name of the tool, or of the model. */
  name: string;
  agent: string;
  invocationId: string;
  sessionId: string;
  /** Id of the call, for a tool. */
  callId?: string;
  error: unknown;
}

/**
 * A listener that receives each failure once, in the process in which it happened. A listener must not throw.
 */
export type OnFailure = (failure: Failure) => void;

/**
 * Prints a failure with its stack to stderr: the default of a runner in one process. Errors that a model's
 * server returns are skipped, because the event already holds them.
 */
export const printFailure: OnFailure = ({ what, name, agent, invocationId, callId, error }) => {
  if (error instanceof ApiError) return;
  const call = callId === undefined ? '' : `, call ${callId}`;
  console.error(`${what} ${name} failed (agent ${agent}, invocation ${invocationId}${call}):`, error);
};

/** Tells whether the error blames the caller. Wrong arguments from a model are not a defect of the tool. */
export function isCallersFault(error: unknown): boolean {
  return error instanceof MeshError && error.code === 'invalid_argument';
}
