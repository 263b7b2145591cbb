import { AsyncLocalStorage } from 'node:async_hooks';
import { MeshError, unlessAborted } from '@agentmesh/protocol';

interface Place {
  owner: object;
  key: string;
}

/** The runs to which the current code belongs. */
const within = new AsyncLocalStorage<readonly Place[]>();

/** For each service and session: the last run that has begun or waits. */
const lines = new WeakMap<object, Map<string, Promise<void>>>();

/**
 * Does the work after all earlier work with the same key has ended, unless the signal is aborted before.
 *
 * @throws MeshError `failed_precondition` when it is called within work with the same key, because it would
 * wait for itself
 */
export async function oneAtATime(
  owner: object,
  key: string,
  signal: AbortSignal | undefined,
  work: () => Promise<void>,
): Promise<void> {
  const held = within.getStore() ?? [];
  if (held.some((place) => place.owner === owner && place.key === key)) {
    throw new MeshError(
      'failed_precondition',
      'a run of the session would wait for itself; use another session, or an AgentTool',
    );
  }
  const line = lines.get(owner) ?? new Map<string, Promise<void>>();
  lines.set(owner, line);
  const previous = line.get(key);
  const { promise: over, resolve: leave } = Promise.withResolvers<void>();
  // A run that gives up waiting must not let the next run start too early.
  const last = previous ? previous.then(() => over) : over;
  line.set(key, last);
  try {
    if (previous) await unlessAborted(previous, signal).catch(() => {});
    if (!signal?.aborted) await within.run([...held, { owner, key }], work);
  } finally {
    leave();
    if (line.get(key) === last) line.delete(key);
  }
}
