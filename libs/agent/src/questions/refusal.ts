import { MeshError } from '@agentmesh/protocol';

/** Stands in the details of the error for a message that was not taken: nothing of it is kept, and what it answers stays open. */
const refusedReason = 'message_refused';

/** What `read` gives; what it throws is marked as a refusal of the message. */
export async function orRefused<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (thrown) {
    const { code, message, details } = MeshError.from(thrown);
    throw new MeshError(code, message, { details: { ...details, reason: refusedReason }, cause: thrown });
  }
}

/** Was the message refused, before anything of it was kept? */
export function isRefused({ details }: MeshError): boolean {
  return details?.reason === refusedReason;
}
