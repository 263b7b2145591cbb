import { setTimeout as delay } from 'node:timers/promises';
import { runKey } from '@agentmesh/agent/internal';
import type { Started } from '@agentmesh/bus';
import { MeshError, parse, type SessionRef, type WaitingRun, waitingRunSchema } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { speakerFor } from './next-speaker.ts';

/** How long a run whose turn it is may wait for a free slot before the next one may go first, in ms. */
const promotedMs = 600_000;

/**
 * Publishes the run whose turn it is in a session, if any. Called by whoever ends an invocation, before it acknowledges: published and then
 * taken from the queue, so that a crash in between publishes it again under the same message id. One that this service may not publish is left to
 * its own agent's sweeper.
 *
 * @param own the agent whose runs alone are published; default any
 */
export async function startNext(mesh: Mesh, ref: SessionRef, own?: string): Promise<void> {
  const { appName, userId, sessionId } = ref;
  const session = { appName, userId, sessionId };
  const text = await mesh.sessions.leases.nextRun(session);
  if (text === undefined) return;
  const { agent, command, headers, from } = parse(waitingRunSchema, JSON.parse(text), 'the waiting run');
  if (own !== undefined && agent !== own) return;
  const { invocationId, resume, hop } = command;
  // The conversation may have gone to another agent meanwhile.
  const to = hop === 0 ? await currentSpeaker(mesh, agent, command) : agent;
  const options = { messageId: `${runKey(command)}:${hop}:turn:${from}`, headers };
  try {
    await mesh.bus.enqueue(mesh.subjects.agentRun(to), command, options);
  } catch (error) {
    if (MeshError.from(error).code !== 'permission_denied') throw error;
    mesh.log.debug({ invocationId, to }, 'may not tell the run whose turn it is; its agent will');
    return;
  }
  await mesh.sessions.leases.promote({ ...session, invocationId, resume }, promotedMs);
  mesh.log.debug({ invocationId, to }, 'its turn has come');
}

async function currentSpeaker(mesh: Mesh, agent: string, command: WaitingRun['command']): Promise<string> {
  try {
    return await speakerFor(mesh, {
      app: command.app,
      user: command.user,
      session: command.session,
      message: command.message,
    });
  } catch (error) {
    if (MeshError.from(error).retryable) throw error;
    // The agent that it was for will say what is wrong.
    return agent;
  }
}

/** How often waiting runs are looked for that nobody has told, in ms. */
export const defaultSweepMs = 5_000;
/** How many sessions are looked at in one go. */
const sweepSize = 100;

/**
 * Finds runs of an agent that a crash left waiting, in sessions that nobody has any more; and ends calls whose deadline is over.
 *
 * @param expire ends them
 */
export function startSweeper(
  mesh: Mesh,
  agent: string,
  { sweepMs, expire }: { sweepMs: number; expire: () => Promise<void> },
): Started {
  const stopping = new AbortController();
  const { signal } = stopping;
  const sweep = async () => {
    for (const ref of await mesh.sessions.leases.waitingSessions(sweepSize)) {
      if (signal.aborted) return;
      try {
        await startNext(mesh, ref, agent);
      } catch (error) {
        mesh.log.warn({ err: error, ...ref }, 'could not look for waiting runs');
      }
    }
  };
  const running = (async () => {
    while (!signal.aborted) {
      // Replicas do not all look at the same time.
      await delay(sweepMs / 2 + Math.random() * sweepMs, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      await expire().catch((error) => mesh.log.warn({ err: error }, 'could not look for overdue calls'));
      await sweep().catch((error) => mesh.log.warn({ err: error }, 'could not look for waiting runs'));
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
