import type { SessionRef } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { type LoggedEvent, readLog } from './read-log.ts';

/** Number of events that are read at first, and then at a time. */
const [firstSize, pageSize] = [20, 200];
/** Size from which events are looked at as outlines, in characters. */
const outlineAbove = 16_384;

/**
 * Searches the log of a session from the end: most searches are for recent events. Returns the last match, or its
 * outline if it is large.
 *
 * @param sessionSeq number of the last event in which to look
 */
export async function findBackwards(
  mesh: Mesh,
  ref: SessionRef,
  sessionSeq: number,
  isMatch: (stored: LoggedEvent) => boolean,
): Promise<LoggedEvent | undefined> {
  let size = firstSize;
  for (let lastSeq = sessionSeq; lastSeq > 0; ) {
    const range = { afterSeq: Math.max(lastSeq - size, 0), lastSeq, outlineAbove };
    let found: LoggedEvent | undefined;
    for await (const each of readLog(mesh, ref, range)) if (isMatch(each)) found = each;
    if (found) return found;
    lastSeq = range.afterSeq;
    size = pageSize;
  }
  return undefined;
}
