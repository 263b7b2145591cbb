import { toolErrorText } from '@agentmesh/agent/internal';
import { MeshError, type ToolResult } from '@agentmesh/protocol';

/**
 * Keeps a result. One that cannot be kept (too large, no JSON) ends the call too: why is kept in its place, so that nobody does the work again and the
 * model is told.
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

/** The result of a call that came to nothing. */
export function failedCall(tool: string, error: unknown): ToolResult {
  const { code, message } = MeshError.from(error);
  return { response: { error: toolErrorText(tool, error) }, failed: { code, message } };
}
