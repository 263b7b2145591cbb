import { setTimeout as delay } from 'node:timers/promises';
import { endOfRun } from '@agentmesh/agent/internal';
import type { GhostItem, Started } from '@agentmesh/bus';
import { MeshError } from '@agentmesh/protocol';
import type { ServedAgent } from '../mesh/served-agent.ts';
import { runIn } from '../runs/earlier-run.ts';
import { handleRun } from '../runs/handle-run.ts';

/** The age up to which a ghost is taken, in ms: the record of an ended run is kept for an hour. */
const freshMs = 1_800_000;

/** Average time between two looks after a ghost was found, in ms, and the time for which they are so frequent. */
const hurriedLookMs = 250;
const hurryMs = 60_000;

/** Number of keys that are kept of ghosts that are gone. */
const mostPast = 10_000;

export interface GhostLooks {
  /** Average time between two looks, in ms. */
  lookMs: number;
  /** Number of ghosts that the replica works on at once. */
  maxConcurrency: number;
}

/**
 * Takes the runs that NATS keeps and will not deliver. A server that was killed while it could not write to its disk
 * begins the numbers of its stream anew, and takes the next commands for acknowledged ones until the numbers have
 * caught up. Such a run has no delivery, so it is begun here; the record of the run decides, as for each delivery,
 * whether it has been done. Several replicas may take the same ghost: one of them gets the session.
 */
export function takeGhosts(served: ServedAgent, { lookMs, maxConcurrency }: GhostLooks): Started {
  const { mesh, agent } = served;
  const stopping = new AbortController();
  const { signal } = stopping;
  /** The work on ghosts by their subjects: those of a session come one after the other. */
  const inHand = new Map<string, Promise<void>>();
  /** The ghosts that are done, of the last look. */
  let past = new Set<string>();
  /** The ghosts in the log, of the last look. */
  let told = new Set<string>();
  /** The ghosts of the look before. A command whose acknowledgement is on its way looks like one for a moment. */
  let before = new Set<string>();

  async function take(ghost: GhostItem): Promise<void> {
    const item = await ghost.read();
    const run = item && runIn(mesh, item);
    // An operator looks at a command that nobody can read.
    if (!run) return void past.add(ghost.key);
    const { app: appName, user: userId, session: sessionId, invocationId, resume } = run;
    const ref = { appName, userId, sessionId, invocationId };
    // A run whose record cannot be read fails as it does when it is delivered.
    const record = await mesh.sessions.invocations.get(ref).catch(() => undefined);
    if (!record || !endOfRun(record, resume)) {
      const ids = { agent: agent.name, session: sessionId, invocationId, place: ghost.place };
      const level = told.has(ghost.key) ? 'debug' : 'warn';
      told.add(ghost.key);
      mesh.log[level](ids, 'takes a run that NATS keeps and will not deliver; sweep the streams');
      if (!(await handleRun(served, { ...item, attempt: 1 })).done) return;
    }
    past.add(ghost.key);
    ghost.drop();
  }

  /** Takes the ghosts that are there. Tells whether there was one that is not done. */
  async function look(): Promise<boolean> {
    let isFound = false;
    const seen = new Set<string>();
    const subjects = new Set<string>();
    for await (const ghost of mesh.bus.ghostRuns(agent.name, freshMs)) {
      if (signal.aborted) return false;
      const { key, subject } = ghost;
      seen.add(key);
      if (past.has(key) || subjects.has(subject)) continue;
      // Later ones of the session wait, also for one that is in hand.
      subjects.add(subject);
      isFound = true;
      if (!before.has(key) || inHand.has(subject) || inHand.size >= maxConcurrency) continue;
      const taken = take(ghost)
        .catch((error: unknown) => mesh.log.warn({ err: error, subject }, 'could not take a ghost'))
        .finally(() => inHand.delete(subject));
      inHand.set(subject, taken);
    }
    before = seen;
    told = told.intersection(seen);
    if (past.size > mostPast) past = past.intersection(seen);
    return isFound;
  }

  const looking = (async () => {
    let pauseMs = lookMs;
    let hurryUntil = 0;
    while (!signal.aborted) {
      // A random pause, so that not all replicas look at the same time.
      await delay(pauseMs / 2 + Math.random() * pauseMs, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted || !mesh.bus.status().connected) continue;
      const isFound = await look().catch((error: unknown) => {
        const level = MeshError.from(error).code === 'permission_denied' ? 'debug' : 'warn';
        mesh.log[level]({ err: error }, 'could not look for runs that NATS will not deliver');
        return false;
      });
      // The next ones are ghosts as well, until the numbers have caught up.
      if (isFound) hurryUntil = performance.now() + hurryMs;
      pauseMs = performance.now() < hurryUntil ? Math.min(lookMs, hurriedLookMs) : lookMs;
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await looking;
      await Promise.all(inHand.values());
    },
  };
}
