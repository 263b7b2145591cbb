import { toolErrorText } from '@agentmesh/agent/internal';
import { MeshError, type ToolResult } from '@agentmesh/protocol';

/**
 * Keeps a result. A result that cannot be kept (too large, not JSON) ends the call too: the reason is kept in
 * its place, so that no replica repeats the work and the model gets the reason.
 */
export async function keepResult<T>(
  tool: string,
  result: ToolResult,
  keep: (result: ToolResult) => Promise<T>,
): Promise<T> {
  try {
    return await keep(result);
  } catch (error) {
    if (MeshError.from(error).code !== 'invalid_argument') throw error;
    return await keep(failedCall(tool, error));
  }
}

/** Returns the result of a call that failed. */
export function failedCall(tool: string, error: unknown): ToolResult {
  const { code, message } = MeshError.from(error);
  return { response: { error: toolErrorText(tool, error) }, failed: { code, message } };
}

/** Returns the result of a call that was stopped, by a cancellation or at its deadline. */
export function stoppedCall(reason: unknown): ToolResult {
  const { code, message } = MeshError.from(reason);
  return { response: { status: 'cancelled', error: message }, failed: { code, message } };
}
