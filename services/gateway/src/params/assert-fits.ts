import { MeshError, type SessionRef } from '@agentmesh/protocol';
import { collectGarbage } from '@agentmesh/service';
import type { GatewayContext } from '../context/context.ts';

/** The most characters of events that are in memory together, as JSON. */
const mostChars = 33_554_432;
const page = { limit: 1_000, maxChars: 1_048_576 };
/** The size of a session, in characters as JSON, from which on the garbage of reading it is worth a collection. */
const largeChars = 8_388_608;

/**
 * Checks that all events of a session fit into memory, which is to be free for them afterwards. Reads them page by page.
 *
 * @throws MeshError `failed_precondition`
 */
export async function assertFits({ mesh }: GatewayContext, ref: SessionRef, purpose: string): Promise<void> {
  let sum = 0;
  for (let afterSeq = 0; ; ) {
    const events = await mesh.sessions.log.readEvents({ ...ref, ...page, afterSeq });
    const last = events.at(-1);
    if (!last) break;
    afterSeq = last.seq;
    for (const { chars = 0 } of events) sum += chars;
    if (sum <= mostChars) continue;
    throw new MeshError(
      'failed_precondition',
      `session ${ref.sessionId} has more than ${mostChars} characters of events, which is too much ${purpose}; begin a new session`,
    );
  }
  // V8 collects large texts late: those of the pages would be there beside the whole session.
  if (sum > largeChars) collectGarbage();
}
