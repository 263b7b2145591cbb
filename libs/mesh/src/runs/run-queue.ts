import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type InvocationRef, type NextRun, runKey, type UserOwner } from '@agentmesh/agent/internal';
import type { Started } from '@agentmesh/bus';
import {
  header,
  MeshError,
  parse,
  type SessionRef,
  type WaitingRun,
  waitingRunSchema,
} from '@agentmesh/protocol';
import { agentCards } from '../mesh/cards.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { publishEnd } from '../messages/publish-event.ts';
import { treeOf } from '../remote/transfer-port.ts';
import { speakerFor } from './next-speaker.ts';

/** Number of runs that one call starts at most. */
const mostAtOnce = 100;
/** Number of runs that one call passes over at most, because this service may not publish them. */
const mostSkipped = 10;

/**
 * Publishes the next runs of a user: those whose session is free, in the order of acceptance, as far as the
 * user's share has room. Must be called after an invocation has ended, before the run command is acknowledged.
 * A run is published first and taken from the queue afterwards: after a crash in between the run is published
 * again, under the same message id. A run that this service may not publish is left to the sweeper of its own
 * agent.
 *
 * @param from the session that may have become free, or the user
 * @param own the only agent whose runs are published; default: any agent
 */
export async function startNext(mesh: Mesh, from: SessionRef | UserOwner, own?: string): Promise<void> {
  const { leases } = mesh.sessions;
  const { appName, userId } = from;
  const running = mesh.limits.running(appName);
  const user = { appName, userId };
  let place: SessionRef | UserOwner =
    'sessionId' in from ? { appName, userId, sessionId: from.sessionId } : user;
  let skip = 0;
  for (let count = 0; count < mostAtOnce; count += 1) {
    const next = await leases.nextRun(place, { running, skip });
    if (!next) return;
    place = user;
    const run = await publishNext(mesh, next, own);
    if (run) {
      const { invocationId, resume } = run.command;
      const promoted = { ...user, sessionId: next.sessionId, invocationId, resume };
      if (!(await leases.promote(promoted, { run: next.run, running }))) return;
    } else if (++skip > mostSkipped) return;
  }
}

/** Publishes a run whose turn has come. Returns undefined for a run that this service may not publish. */
async function publishNext(
  mesh: Mesh,
  { sessionId, run }: NextRun,
  own?: string,
): Promise<WaitingRun | undefined> {
  const waiting = parse(waitingRunSchema, JSON.parse(run), 'the waiting run');
  const { agent, command, headers, from } = waiting;
  if (own !== undefined && agent !== own) return undefined;
  const { invocationId, hop } = command;
  // The run has not begun, and the conversation may have gone to another agent meanwhile.
  const to = hop === 0 ? await currentSpeaker(mesh, agent, command) : agent;
  const options = { messageId: `${runKey(command)}:${hop}:turn:${from}`, headers };
  try {
    await mesh.bus.enqueue(mesh.subjects.agentRun(to, sessionId), command, options);
  } catch (error) {
    if (MeshError.from(error).code !== 'permission_denied') throw error;
    mesh.log.debug({ invocationId, to }, 'may not publish the next run of the session; its agent will');
    return undefined;
  }
  mesh.log.debug({ invocationId, to }, 'its turn has come');
  return waiting;
}

/** Time that silent work gets to give a sign of life before it ends, in ms. */
const defaultGraceMs = 15_000;

/**
 * Asks for the work of a holder that has given no sign of life: its command may be lost, for example because
 * an operator removed it from its queue. Work that no command can bring again ends: a program asked for it,
 * and the process that did it is gone.
 *
 * @param own the only agent whose runs are published; default: any agent
 * @param graceMs time that silent work gets to give a sign of life before it ends, in ms
 */
export async function askSilentHolder(
  mesh: Mesh,
  ref: SessionRef,
  { own, graceMs = defaultGraceMs }: { own?: string; graceMs?: number } = {},
): Promise<void> {
  const { leases } = mesh.sessions;
  const silent = await leases.findSilent(ref);
  if (!silent) return;
  const { invocationId, resume, run, asked } = silent;
  const holder = { ...ref, invocationId, resume };
  if (run === '') {
    if (asked === 0) await leases.noteAsked(holder, graceMs);
    else await abandon(mesh, holder);
    return;
  }
  const { agent, command, headers: all } = parse(waitingRunSchema, JSON.parse(run), 'the silent run');
  // The run had its session: it did not wait.
  const { [header.waitsSince]: _since, ...headers } = all;
  if ((own !== undefined && agent !== own) || !(await leases.noteAsked(holder))) return;
  const messageId = `${runKey(command)}:${command.hop}:again:${randomUUID()}`;
  await mesh.bus.enqueue(mesh.subjects.agentRun(agent, ref.sessionId), command, { messageId, headers });
  mesh.log.warn({ invocationId, agent, times: asked + 1 }, 'a run gave no sign of life; published it again');
}

async function abandon(mesh: Mesh, holder: InvocationRef): Promise<void> {
  const error = {
    code: 'unavailable',
    message: 'the process that worked on it gave no sign of life; ask again',
  };
  const end = { status: 'failed', error } as const;
  if (!(await mesh.sessions.leases.abandon(holder, end))) return;
  const { invocationId } = holder;
  mesh.log.warn({ invocationId, session: holder.sessionId }, 'ended work whose process is gone');
  await publishEnd(mesh, holder, { ...end, lastSeq: 0 }, {});
  await startNext(mesh, holder);
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
    // The agent to which the run was addressed reports the error.
    return agent;
  }
}

/** Time between two searches for waiting runs that were not published, in ms. */
export const defaultSweepMs = 5_000;
/** Number of searches for which silent work is waited for, before it ends. */
const sweepsOfGrace = 3;
/** Number of sessions, and of users, that one search reads. */
const sweepSize = 100;

/**
 * Returns the apps in whose sessions an agent may work: those of its tree, and for asks its own name, if it has
 * no app. Its user in Redis has rights on these alone.
 */
function appsOf(mesh: Mesh, agent: string): string[] {
  const cards = agentCards(mesh);
  const tree = treeOf(cards, agent);
  const ofTree = cards.flatMap(({ name, app }) => (tree.has(name) && app !== undefined ? [app] : []));
  const own = cards.find(({ name }) => name === agent)?.app ?? agent;
  return [...new Set([...ofTree, own])];
}

/**
 * Starts the periodic sweep: it publishes the runs of an agent that a crash left waiting, in sessions that no
 * run holds, also those that wait for the share of their user; it asks for silent holders of sessions; and it ends calls whose deadline is over.
 *
 * @param expire ends the calls whose deadline is over
 */
export function startSweeper(
  mesh: Mesh,
  agent: string,
  { sweepMs, expire }: { sweepMs: number; expire: () => Promise<void> },
): Started {
  const stopping = new AbortController();
  const { signal } = stopping;
  const sweep = async () => {
    const { leases } = mesh.sessions;
    const apps = appsOf(mesh, agent);
    const users = await Promise.all(apps.map((app) => leases.busyUsers(app, sweepSize)));
    const sessions = await Promise.all(apps.map((app) => leases.busySessions(app, sweepSize)));
    for (const ref of [...users.flat(), ...sessions.flat()] as (UserOwner | SessionRef)[]) {
      // Without NATS nothing can be published, and a note that a run was asked for keeps others from asking.
      if (signal.aborted || !mesh.bus.status().connected) return;
      try {
        await startNext(mesh, ref, agent);
        if ('sessionId' in ref)
          await askSilentHolder(mesh, ref, { own: agent, graceMs: sweepsOfGrace * sweepMs });
      } catch (error) {
        mesh.log.warn({ err: error, ...ref }, 'could not look after a busy session');
      }
    }
  };
  const running = (async () => {
    while (!signal.aborted) {
      // A random pause, so that not all replicas search at the same time.
      await delay(sweepMs / 2 + Math.random() * sweepMs, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      await expire().catch((error) => mesh.log.warn({ err: error }, 'could not look for overdue calls'));
      await sweep().catch((error) => mesh.log.warn({ err: error }, 'could not look for busy sessions'));
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
