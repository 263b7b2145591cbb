import { newInvocationId, type WhenBusy } from '@agentmesh/agent';
import {
  type Event,
  type Headers,
  header,
  type InvocationEnd,
  MeshError,
  nextTrace,
  type RunCommandInput,
  type SessionRef,
} from '@agentmesh/protocol';
import type { NumberedEvent } from './log-reader.ts';
import type { Mesh } from './mesh.ts';
import { rootOf } from './root.ts';
import { sealAnswers } from './sealed-answers.ts';
import { noSession, recentEvents, speakerOf } from './speaker.ts';
import { watchInvocation } from './watch.ts';

export interface RunRequest {
  app: string;
  user: string;
  session: string;
  message: NonNullable<RunCommandInput['message']>;
  stateDelta?: Record<string, unknown>;
  runConfig?: RunCommandInput['runConfig'];
  /** What to do when another run is at work in the session; default `enqueue`: runs of one session come one after the other. */
  whenBusy?: WhenBusy;
}

export interface RunOptions {
  /** Stops watching; the run itself goes on. */
  signal?: AbortSignal;
  /** Time for the whole run, in ms; past it, work on it stops. Default: none. */
  timeoutMs?: number;
  /** Trace headers of whoever asked. */
  headers?: Headers;
  /** What to do when no replica of the agent is up: `reject` at once, or `enqueue` and wait for one. Default `reject`. */
  whenAbsent?: 'reject' | 'enqueue';
}

/** A run that was accepted: from here on it survives every crash. */
export interface StartedRun {
  invocationId: string;
  /** The agent that the message went to. */
  agent: string;
  /** What happens, partial events too, each committed event once and in order, until the end. The user's message is not among it. */
  events: AsyncIterable<Event>;
  /** The same with their numbers in the session, by which {@link followRun} comes back; read one of the two. */
  numbered: AsyncIterable<NumberedEvent>;
  /** How it ended; settles after `events` has. */
  end: Promise<InvocationEnd>;
}

/**
 * Gives an app a message and tells what happens. Resolves when the run command is safe in its queue.
 *
 * @throws MeshError `not_found` for an unknown app or session, `invalid_argument` for a message that is none, `failed_precondition` for an app
 * with two roots, or for a credential where nothing can seal it, `unavailable` when no replica is up.
 */
export async function startRun(
  mesh: Mesh,
  request: RunRequest,
  options: RunOptions = {},
): Promise<StartedRun> {
  const { app, user, session, ...rest } = request;
  const { signal, timeoutMs, whenAbsent = 'reject' } = options;
  const ref: SessionRef = { appName: app, userId: user, sessionId: session };
  const root = await rootOf(mesh, app);
  const head = await mesh.sessions.getSession({ ...ref, config: { numRecentEvents: recentEvents } });
  if (!head) throw noSession(ref);
  const agent = await speakerOf(mesh, root, head, request.message);
  if (whenAbsent === 'reject' && !(await isThere(mesh, agent))) {
    throw new MeshError('unavailable', `no replica of agent ${agent} is up; start one, or try again later`);
  }
  const invocationId = newInvocationId();
  const watch = await watchInvocation(mesh, { ...ref, invocationId }, { afterSeq: head.seq, signal });
  try {
    const message = sealAnswers(mesh, ref, request.message);
    const command: RunCommandInput = { invocationId, app, user, session, ...rest, message };
    await mesh.bus.enqueue(mesh.subjects.agentRun(agent), command, {
      messageId: `${invocationId}:0`,
      headers: {
        ...nextTrace(options.headers),
        ...(timeoutMs !== undefined && { [header.deadline]: String(Date.now() + timeoutMs) }),
      },
    });
  } catch (error) {
    await watch.stop();
    throw error;
  }
  const { events: numbered, end } = watch;
  return { invocationId, agent, events: eventsOf(numbered), numbered, end };
}

async function* eventsOf(numbered: AsyncIterable<NumberedEvent>): AsyncGenerator<Event, void, void> {
  for await (const { event } of numbered) yield event;
}

/** Asked a few times: after a restart of the server its clients come back one by one. */
async function isThere({ bus, subjects }: Mesh, agent: string): Promise<boolean> {
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    if (await bus.isServed(subjects.shownAs(agent))) return true;
    if (attempt < 3) await new Promise((resolve) => setTimeout(resolve, 150));
  }
  return false;
}
