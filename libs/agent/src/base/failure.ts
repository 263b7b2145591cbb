import { MeshError } from '@agentmesh/protocol';
import { ApiError } from '@google/genai';

/** An exception of a tool or of a model. The agent goes on with the words of it; the stack is for whoever operates the process. */
export interface Failure {
  what: 'tool' | 'model';
  /** Name of the tool, or of the model. */
  name: string;
  agent: string;
  invocationId: string;
  sessionId: string;
  /** Of a tool. */
  callId?: string;
  error: unknown;
}

/** Takes each failure once, in the process in which it happened. Must not throw. */
export type OnFailure = (failure: Failure) => void;

/** Prints a failure with its stack on stderr: the default of a runner in one process. What a model's server refuses is in the event already. */
export const printFailure: OnFailure = ({ what, name, agent, invocationId, callId, error }) => {
  if (error instanceof ApiError) return;
  const call = callId === undefined ? '' : `, call ${callId}`;
  console.error(`${what} ${name} failed (agent ${agent}, invocation ${invocationId}${call}):`, error);
};

/** Does it say that the caller asked for something wrong? A model that gives a tool wrong arguments is no defect of the tool. */
export function isCallersFault(error: unknown): boolean {
  return error instanceof MeshError && error.code === 'invalid_argument';
}
