import { type AskInput, type Headers, header } from '@agentmesh/protocol';

/**
 * Names the part of the invocation that an ask is: the same for each request of one ask. The depth is part of
 * the name because the same agent may be asked for the same step again deeper down, by itself.
 */
export function askPart(
  agent: string,
  { parent, step }: Pick<AskInput, 'parent' | 'step'>,
  headers: Headers,
): string {
  const { path, branch, journalStart, held } = step ?? {};
  const run = headers[header.resume];
  const place = [agent, headers[header.depth] ?? '', parent?.callId, path, branch, journalStart];
  const more = [...(run === undefined ? [] : [run]), ...(held ? [held.part] : [])];
  return JSON.stringify([...place, ...more]);
}
