import { MeshError } from '@agentmesh/protocol';

/**
 * The reason in the error's details when a message was refused: nothing of the message is stored, and the
 * questions that it answers stay open.
 */
const refusedReason = 'message_refused';

/** Returns the result of `read`. Marks an error of `read` as a refusal of the message. */
export async function orRefused<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (thrown) {
    const { code, message, details } = MeshError.from(thrown);
    throw new MeshError(code, message, { details: { ...details, reason: refusedReason }, cause: thrown });
  }
}

/** Tells whether the message was refused before any part of it was stored. */
export function isRefused({ details }: MeshError): boolean {
  return details?.reason === refusedReason;
}
