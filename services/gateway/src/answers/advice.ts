import { MeshError } from '@agentmesh/protocol';

/** Advice for a client whose answer is refused. */
export interface Advice {
  /** A sentence that says how the client gets its answer. */
  advice: string;
  /** False if the same request again would do its work twice. */
  mayRepeat: boolean;
}

/** Returns the error for an answer that is refused because too much is going on; with a time to wait if repeating helps. */
export function refusedAnswer(reason: string, { advice, mayRepeat }: Advice): MeshError {
  const details = mayRepeat ? { retryAfterMs: 1_000 } : { mayRepeat };
  return new MeshError('resource_exhausted', `${reason}; ${advice}`, { details });
}
