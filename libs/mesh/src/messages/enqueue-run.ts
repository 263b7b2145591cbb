import { createHash } from 'node:crypto';
import {
  type Canary,
  canaryQueue,
  type Event,
  type Headers,
  MeshError,
  versionKey,
} from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';

/** A run command with the names that its queue depends on. */
export interface QueuedRun {
  agent: string;
  app: string;
  user: string;
  session: string;
  /** The version that asked the question which the run answers; absent for other runs. */
  askedBy?: string | undefined;
}

/** The properties of the message that carries a run. */
interface RunMessage {
  messageId: string;
  headers?: Headers;
  saysWhenAlone?: boolean;
}

/**
 * Puts a run command on the queue of its agent, or on that of the agent's canary. A choice of the queue decides only
 * which version is likely to take the run: replicas of any version may do so.
 *
 * @throws MeshError as `Bus.enqueue`
 */
export async function enqueueRun(
  { bus, subjects, log }: Mesh,
  run: QueuedRun,
  command: object,
  message: RunMessage,
): Promise<void> {
  const canary = bus.directory.canary(run.agent);
  if (canary && goesToCanary(canary, run)) {
    try {
      await bus.enqueue(subjects.agentRun(canaryQueue(run.agent), run.session), command, message);
      return;
    } catch (error) {
      // The queue has just been removed, or this service was provisioned before there were canaries.
      const { code } = MeshError.from(error);
      if (code !== 'failed_precondition' && code !== 'permission_denied') throw error;
      log.debug(
        { agent: run.agent, code },
        'the canary has no queue; its run goes to the queue of the agent',
      );
    }
  }
  await bus.enqueue(subjects.agentRun(run.agent, run.session), command, message);
}

/** Tells whether a run belongs to the share of a canary. */
export function goesToCanary(
  canary: Canary,
  { app, user, session, askedBy }: Omit<QueuedRun, 'agent'>,
): boolean {
  if (canary.ending || canary.percent === 0) return false;
  if (canary.pinned && askedBy !== undefined) return askedBy === canary.version;
  return placeOf([app, user, session]) < canary.percent;
}

/**
 * Returns a number from 0 up to 100 that is always the same for a session, so that all its runs go to one version. It is
 * the same for all agents: a session is in the shares of all canaries of one percentage, or of none.
 */
function placeOf(names: readonly string[]): number {
  const hash = createHash('sha256').update(JSON.stringify(names)).digest();
  return (hash.readUInt32BE() / 2 ** 32) * 100;
}

/** Returns the version of the agent that made the last of some events; undefined if none names one. */
export function versionOf(events: readonly Event[]): string | undefined {
  const version = events.findLast(({ customMetadata }) => customMetadata?.[versionKey] !== undefined)
    ?.customMetadata?.[versionKey];
  return typeof version === 'string' ? version : undefined;
}
