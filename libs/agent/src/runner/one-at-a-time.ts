import { AsyncLocalStorage } from 'node:async_hooks';
import { MeshError, unlessAborted } from '@agentmesh/protocol';

interface Place {
  owner: object;
  key: string;
}

/** The runs that the code at work belongs to. */
const within = new AsyncLocalStorage<readonly Place[]>();

/** By the service that keeps them: the last of the runs of a session, that have begun or wait. */
const lines = new WeakMap<object, Map<string, Promise<void>>>();

/**
 * Runs what `start` makes when all that were started before for the same key have ended. Whoever stops taking from it ends it.
 *
 * @throws MeshError `failed_precondition` when it is started from within one of the same key, which would wait for itself
 */
export async function* oneAtATime<T>(
  owner: object,
  key: string,
  signal: AbortSignal | undefined,
  start: () => AsyncGenerator<T, void, void>,
): AsyncGenerator<T, void, void> {
  const held = within.getStore() ?? [];
  if (held.some((place) => place.owner === owner && place.key === key)) {
    throw new MeshError(
      'failed_precondition',
      'a run of the session would wait for itself; use another session, or an AgentTool',
    );
  }
  const line = lines.get(owner) ?? new Map<string, Promise<void>>();
  lines.set(owner, line);
  const before = line.get(key) ?? Promise.resolve();
  const { promise: over, resolve: leave } = Promise.withResolvers<void>();
  // Who gives up waiting must not let the next one in too early.
  const last = before.then(() => over);
  line.set(key, last);
  try {
    await unlessAborted(before, signal).catch(() => {});
    if (signal?.aborted) return;
    const inside = [...held, { owner, key }];
    const work = start();
    try {
      for (;;) {
        const step = await within.run(inside, () => work.next());
        if (step.done) return;
        yield step.value;
      }
    } finally {
      await work.return();
    }
  } finally {
    leave();
    if (line.get(key) === last) line.delete(key);
  }
}
