import { setTimeout as delay } from 'node:timers/promises';
import type { Started } from '@agentmesh/bus';
import { MeshError, parse, type SessionRef, type WaitingRun, waitingRunSchema } from '@agentmesh/protocol';
import type { Mesh } from './mesh.ts';
import { speakerFor } from './speaker.ts';

/** How long a run whose turn it is may wait for a free slot before the next one may go first, in ms. */
const promotedMs = 600_000;

/**
 * Publishes the run whose turn it is in a session, if any. Called by whoever ends an invocation, before it acknowledges: published and then
 * taken from the queue, so that a crash in between publishes it again under the same message id.
 */
export async function startNext(mesh: Mesh, ref: SessionRef): Promise<void> {
  const { appName, userId, sessionId } = ref;
  const session = { appName, userId, sessionId };
  const text = await mesh.sessions.nextRun(session);
  if (text === undefined) return;
  const { agent, command, headers } = parse(waitingRunSchema, JSON.parse(text), 'the waiting run');
  const { invocationId, hop } = command;
  // The conversation may have gone to another agent meanwhile.
  const to = hop === 0 ? await currentSpeaker(mesh, agent, command) : agent;
  await mesh.bus.enqueue(mesh.subjects.agentRun(to), command, {
    messageId: `${invocationId}:${hop}:turn`,
    headers,
  });
  await mesh.sessions.promoteRun({ ...session, invocationId }, promotedMs);
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

/** How often waiting runs are looked for that nobody has told, in ms, and how many sessions at a time. */
const sweepMs = 5_000;
const sweepSize = 100;

/** Finds runs that a crash left waiting: of sessions that nobody has any more. */
export function startSweeper(mesh: Mesh): Started {
  const stopping = new AbortController();
  const { signal } = stopping;
  const sweep = async () => {
    for (const ref of await mesh.sessions.waitingSessions(sweepSize)) {
      if (signal.aborted) return;
      await startNext(mesh, ref);
    }
  };
  const running = (async () => {
    while (!signal.aborted) {
      // Replicas do not all look at the same time.
      await delay(sweepMs / 2 + Math.random() * sweepMs, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
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
