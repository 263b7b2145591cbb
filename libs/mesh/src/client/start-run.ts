import {
  messageEventId,
  newResumeId,
  noSession,
  readRunConfig,
  runKey,
  type SessionView,
  type WhenBusy,
} from '@agentmesh/agent/internal';
import {
  assertOptions,
  type Caller,
  type Event,
  type Headers,
  header,
  type InvocationEnd,
  MeshError,
  meshTime,
  nextTrace,
  type OptionNames,
  type RunCommandInput,
  type SessionRef,
} from '@agentmesh/protocol';
import { vouchFor } from '../answers/answer-source.ts';
import { checkMessage } from '../answers/check-message.ts';
import { sealAnswers } from '../answers/sealed-answers.ts';
import type { Mesh } from '../mesh/mesh.ts';
import { rootOf } from '../mesh/root-agent.ts';
import { tooManyWaiting } from '../mesh/run-limits.ts';
import type { OutlineOptions } from '../messages/read-log.ts';
import { runHeader } from '../messages/run-header.ts';
import { checkClientInput } from '../remote/check-client-input.ts';
import { assertResumable } from '../runs/check-continuation.ts';
import { onlyRootSpeaks, speakerOf } from '../runs/next-speaker.ts';
import { isUp } from './is-up.ts';
import type { NumberedEvent } from './log-reader.ts';
import { newInvocationId } from './run-news.ts';
import { watchInvocation } from './watch-run.ts';

export interface RunRequest {
  app: string;
  user: string;
  session: string;
  message: NonNullable<RunCommandInput['message']>;
  /**
   * The invocation with the question that the message answers: this invocation goes on. Only in resumable
   * apps; default: a new invocation.
   */
  invocationId?: string;
  stateDelta?: Record<string, unknown>;
  /** The input of a client beside the message: tools that it runs itself, and facts about the situation. */
  client?: RunCommandInput['client'];
  runConfig?: RunCommandInput['runConfig'];
  /**
   * Decides what happens when another run is at work in the session; default `enqueue`: runs of one session
   * come one after the other.
   */
  whenBusy?: WhenBusy;
  /**
   * The person or program that gave the answers in the message, and the way by which they came in; the
   * session keeps both. Absent if unknown. Only a gateway can vouch for a person.
   */
  answeredBy?: RunCommandInput['answeredBy'];
  /** The authenticated caller, for agents and tools of the run. Only a gateway can vouch for a caller. */
  caller?: Caller;
}

export interface RunOptions extends OutlineOptions {
  /** Stops watching; the run itself goes on. */
  signal?: AbortSignal;
  /** Time limit of the whole run, in ms; after it, work on the run stops. Default: none. */
  timeoutMs?: number;
  /** Trace headers of the caller. */
  headers?: Headers;
  /**
   * Decides what happens when no replica of the agent is up: `reject` at once, or `enqueue` and wait for one.
   * Default `reject`.
   */
  whenAbsent?: 'reject' | 'enqueue';
  /**
   * The ids of the run, from {@link newRunIds}; default new ones. A run that is started twice under its ids runs once.
   * A function is called when all checks have passed, right before the command is published: a run that is refused
   * has no ids. It gets the incarnation of the session in which the run is to run.
   */
  ids?: RunIds | ((incarnation: string) => Promise<RunIds>);
}

/** The ids by which the mesh knows a run. */
export interface RunIds {
  invocationId: string;
  /** The name of the run if it continues an invocation. */
  resume?: string;
}

/**
 * Makes the ids of a run.
 *
 * @param continued the invocation that the run continues; default: a new invocation
 */
export function newRunIds(mesh: Mesh, session: SessionRef, continued?: string): RunIds {
  if (continued !== undefined) return { invocationId: continued, resume: newResumeId() };
  return { invocationId: newInvocationId(mesh, session) };
}

const requestNames: OptionNames<RunRequest> = {
  app: true,
  user: true,
  session: true,
  message: true,
  invocationId: true,
  stateDelta: true,
  client: true,
  runConfig: true,
  whenBusy: true,
  answeredBy: true,
  caller: true,
};
const optionNames: OptionNames<RunOptions> = {
  signal: true,
  timeoutMs: true,
  headers: true,
  whenAbsent: true,
  ids: true,
  outlineAbove: true,
};

/** A run that was accepted: from now on it survives every crash. */
export interface StartedRun {
  invocationId: string;
  /** The name of this run if it continues an invocation. */
  resume?: string;
  /** The agent that gets the message. */
  agent: string;
  /**
   * The events of the run until its end, partial ones too; each committed event comes once and in order. The
   * user's message is left out.
   */
  events: AsyncIterable<Event>;
  /**
   * The same events with their numbers in the session: {@link followRun} continues after such a number. Read
   * either this or `events`.
   */
  numbered: AsyncIterable<NumberedEvent>;
  /** The end of the run; settles after `events` has ended. */
  end: Promise<InvocationEnd>;
}

/**
 * Gives a message to an app and returns the events that follow. Resolves when the run command is safe in its
 * queue.
 *
 * @throws MeshError `not_found` for an unknown app or session; `failed_precondition` for an app with two
 * roots, for the id of an invocation that cannot be continued, or for a credential that nothing can seal;
 * `unavailable` when no replica is up or NATS gives no answer; `resource_exhausted` when the user has too many
 * waiting runs; for a message or an answer that is refused,
 * the agent's own error: `invalid_argument`, `failed_precondition` or `permission_denied`. A refused message changes nothing.
 * `permission_denied` also for `answeredBy` with an answer in a service that is no gateway.
 */
export async function startRun(
  mesh: Mesh,
  request: RunRequest,
  options: RunOptions = {},
): Promise<StartedRun> {
  assertOptions('startRun', request, requestNames);
  assertOptions('startRun', options, optionNames);
  if (request.runConfig) readRunConfig(request.runConfig);
  const { app, user, session, invocationId: continued, caller, ...rest } = request;
  const { signal, timeoutMs, outlineAbove, whenAbsent = 'reject' } = options;
  const ref: SessionRef = { appName: app, userId: user, sessionId: session };
  const root = await rootOf(mesh, app);
  checkClientInput(mesh, app, request.client);
  // Asked at once where no other agent can get the message.
  const rootIsUp = whenAbsent === 'reject' && onlyRootSpeaks(mesh, root) ? isUp(mesh, root.name) : undefined;
  rootIsUp?.catch(() => {});
  const view = await mesh.sessions.leases.look(ref);
  if (!view) throw noSession(ref);
  if (continued === undefined) assertRoom(mesh, ref, view);
  const { message } = request;
  if (continued !== undefined) assertResumable(root);
  const askingEvents = await checkMessage(mesh, ref, message, { answeredBy: request.answeredBy, continued });
  const sealed = await sealAnswers(mesh, ref, message);
  const agent = await speakerOf(mesh, root, { ...ref, seq: view.seq }, { message, askingEvents });
  const requireUp = async () => {
    if (whenAbsent === 'enqueue') return;
    const known = agent === root.name ? rootIsUp : undefined;
    const isThere = await (known ?? isUp(mesh, agent));
    if (!isThere)
      throw new MeshError('unavailable', `no replica of agent ${agent} is up; start one, or try again later`);
  };
  const { ids = newRunIds(mesh, ref, continued) } = options;
  const isLate = typeof ids === 'function';
  if (isLate) await requireUp();
  const run = isLate ? await ids(view.incarnation) : ids;
  const identity = caller && (await mesh.callers.sign({ ...ref, ...run }, caller));
  const answering = { ...ref, ...run, message: sealed, runConfig: request.runConfig };
  const source = await vouchFor(mesh, 'gateway', answering, request.answeredBy);
  const from = run.resume === undefined ? undefined : messageEventId(run, session);
  const watched = { afterSeq: view.seq, from, signal, outlineAbove };
  const watching = watchInvocation(mesh, { ...ref, ...run }, watched);
  try {
    const [{ events: numbered, end }] = await Promise.all([watching, isLate || requireUp()]);
    const { incarnation } = view;
    const command: RunCommandInput = { ...run, app, user, session, incarnation, ...rest, message: sealed };
    await mesh.bus.enqueue(mesh.subjects.agentRun(agent, session), command, {
      messageId: `${runKey(run)}:0`,
      saysWhenAlone: true,
      headers: {
        ...nextTrace(options.headers),
        ...runHeader({ ...ref, ...run }),
        ...identity,
        ...source,
        ...(timeoutMs !== undefined && { [header.deadline]: String(meshTime() + timeoutMs) }),
      },
    });
    return { ...run, agent, events: eventsOf(numbered), numbered, end };
  } catch (error) {
    // The subscription may still be on its way to a server that is away.
    void watching.then(({ stop }) => stop()).catch(() => {});
    throw error;
  }
}

/** @throws MeshError `resource_exhausted` when the user has too many waiting runs */
function assertRoom(mesh: Mesh, { appName, userId }: SessionRef, { waiting }: SessionView): void {
  const most = mesh.limits.waiting(appName);
  if (waiting < most) return;
  const { code, message } = tooManyWaiting(appName, userId, most).error;
  throw new MeshError(code, message);
}

async function* eventsOf(numbered: AsyncIterable<NumberedEvent>): AsyncGenerator<Event, void, void> {
  for await (const { event } of numbered) yield event;
}
