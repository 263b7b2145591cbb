import { MeshError, type SessionRef } from '@agentmesh/protocol';
import type { GatewayContext } from '../context/context.ts';

/** The most characters of events that are in memory together, as JSON. */
const mostChars = 33_554_432;
const page = { limit: 1_000, maxChars: 1_048_576 };

/**
 * Checks that all events of a session fit into memory. Reads them page by page.
 *
 * @throws MeshError `failed_precondition`
 */
export async function assertFits({ mesh }: GatewayContext, ref: SessionRef, purpose: string): Promise<void> {
  let sum = 0;
  for (let afterSeq = 0; ; ) {
    const events = await mesh.sessions.log.readEvents({ ...ref, ...page, afterSeq });
    const last = events.at(-1);
    if (!last) return;
    afterSeq = last.seq;
    for (const { chars = 0 } of events) sum += chars;
    if (sum <= mostChars) continue;
    throw new MeshError(
      'failed_precondition',
      `session ${ref.sessionId} has more than ${mostChars} characters of events, which is too much ${purpose}; begin a new session`,
    );
  }
}
