import type { OnFailure } from '@agentmesh/agent';
import {
  type Ask,
  type Event,
  type Frame,
  type Headers,
  MeshError,
  type RunCommand,
  replicaKey,
} from '@agentmesh/protocol';
import { errorPlace, type Logger } from '@agentmesh/service';
import { countFailure, countTakeover, countWork, type WorkKind } from './metrics.ts';
import { startWorkSpan, type WorkFacts, type WorkSpan } from './work-span.ts';

/**
 * The cost of a piece of work so far, and when it began. It counts the work in the metrics of the process, and records
 * its span.
 */
export interface Tally extends Disposable {
  readonly kind: WorkKind;
  /** The name of the agent or the tool. */
  readonly name: string;
  /** Begins work that is begun once. */
  start(): void;
  /** Begins work that may have been begun before. */
  begin(attempt: number): void;
  /** Counts the model calls and tokens of an event. */
  note(event: Pick<Event, 'partial' | 'usageMetadata'>): void;
  /** Ends the work; only the first end counts. A tally that is disposed of without an end gives the work back. */
  end(outcome: string, code?: string): void;
  /** Number of times that the work was begun, including this time; undefined until it begins. */
  readonly attempt: number | undefined;
  /** The span of the work; undefined until it begins, and while nobody records spans. */
  readonly span: WorkSpan | undefined;
  /** Returns the headers of messages that are sent on behalf of the work: with its span as their parent. */
  under(headers: Headers): Headers;
  fields(): { durationMs: number; modelCalls: number; tokens: number; attempt?: number };
}

export function createTally(kind: WorkKind, name: string, facts: WorkFacts): Tally {
  const began = performance.now();
  let modelCalls = 0;
  let tokens = 0;
  let attempt: number | undefined;
  let countEnd: ReturnType<typeof countWork> | undefined;
  let span: WorkSpan | undefined;
  let isOver = false;
  const end = (outcome: string, code?: string) => {
    if (isOver || !countEnd) return;
    isOver = true;
    countEnd(outcome, code);
    span?.end(outcome, code);
  };
  return {
    ...{ kind, name },
    get attempt() {
      return attempt;
    },
    get span() {
      return span;
    },
    under: (headers) => span?.under(headers) ?? headers,
    start() {
      countEnd ??= countWork(kind, name);
      span ??= startWorkSpan(kind, name, facts);
    },
    begin(number) {
      attempt = number;
      if (number > 1) countTakeover(kind, name);
      this.start();
      span?.setAttempt(number);
    },
    end,
    [Symbol.dispose]: () => end('given_back'),
    note({ partial, usageMetadata }) {
      if (partial || !usageMetadata) return;
      modelCalls += 1;
      tokens += usageMetadata.totalTokenCount ?? 0;
    },
    fields() {
      const durationMs = Math.round(performance.now() - began);
      return { durationMs, modelCalls, tokens, ...(attempt !== undefined && { attempt }) };
    },
  };
}

const failureMessages = {
  tool: 'a tool threw: the model is told',
  model: 'a model call failed',
  callback: 'a callback threw: its agent fails',
};

/** Returns a function that logs errors of tools, models and callbacks, once, where they happen. */
export function logFailures(log: Logger): OnFailure {
  return ({ what, name, sessionId, error, ...ids }) => {
    countFailure(what, name);
    log.warn(
      { [what]: name, session: sessionId, ...ids, at: errorPlace(error), err: error },
      failureMessages[what],
    );
  };
}

/**
 * Logs that work is begun again, because its process died or gave the work back. `lastReplica` is the replica
 * that made the last event.
 */
export function logTakeover(
  log: Logger,
  attempt: number,
  ids: Record<string, unknown>,
  eventsOf: () => readonly Event[] = () => [],
): void {
  if (attempt <= 1) return;
  const last = eventsOf().findLast(({ customMetadata }) => customMetadata?.[replicaKey] !== undefined);
  const before = last?.customMetadata?.[replicaKey];
  log.warn(
    { ...ids, attempt, ...(before !== undefined && { lastReplica: before }) },
    'continues work that was begun before and did not end',
  );
}

/** Logs one line for a run that was worked on; a delivery without any work has no line. */
export function logRunEnd(
  log: Logger,
  run: Pick<RunCommand, 'resume' | 'hop'> & { app: string; session: string; invocationId: string },
  by: { agent: string; traceId: string | undefined },
  tally: Tally,
  end: 'completed' | 'failed' | 'given back',
  code?: string,
): void {
  if (tally.attempt === undefined) return;
  const outcome = end === 'failed' ? failedOutcome(code) : end;
  tally.end(outcome.replace(' ', '_'), code);
  const { app, session, invocationId, resume, hop } = run;
  const ids = { ...by, app, session, invocationId, ...(resume !== undefined && { resume }), hop };
  log.info({ ...ids, outcome, ...(code !== undefined && { code }), ...tally.fields() }, 'run ended');
}

const outcomeMessages = {
  ask: { begin: 'ask began', end: 'ask ended', defect: 'ask failed' },
  call: { begin: 'call began', end: 'call ended', defect: 'call failed' },
};

/**
 * Passes the frames of an answer on. Logs its begin and its end, each in one line, and a defect with its stack.
 *
 * @throws the errors of the frames; for a defect MeshError `internal` without the cause, which is logged here
 */
export async function* withOutcome(
  log: Logger,
  tally: Tally,
  ids: Record<string, unknown>,
  frames: AsyncIterable<Frame>,
): AsyncGenerator<Frame, void, void> {
  const messages = outcomeMessages[tally.kind === 'ask' ? 'ask' : 'call'];
  const end: Outcome = { outcome: 'cancelled' };
  tally.start();
  log.info(ids, messages.begin);
  try {
    for await (const frame of frames) {
      if (frame.type === 'event') tally.note(frame.data as Event);
      if (frame.type === 'result') Object.assign(end, outcomeOf(frame.data));
      yield frame;
    }
  } catch (error) {
    const { code, message, cause } = MeshError.from(error);
    Object.assign(end, { outcome: failedOutcome(code), code });
    if (code !== 'internal' || cause === undefined) throw error;
    log.error({ ...ids, at: errorPlace(error), err: error }, messages.defect);
    throw new MeshError(code, message);
  } finally {
    const { durationMs, ...costs } = tally.fields();
    tally.end(end.outcome, end.code);
    log.info({ ...ids, ...end, durationMs, ...(tally.kind === 'ask' && costs) }, messages.end);
  }
}

/** Tells work that somebody cancelled from work that failed. */
function failedOutcome(code: string | undefined): 'failed' | 'cancelled' {
  return code === 'cancelled' ? 'cancelled' : 'failed';
}

/** The end of an ask or a call, as log fields. */
interface Outcome {
  outcome: string;
  code?: string;
  invocationId?: string;
}

/** Returns the end that a result tells: for an ask with the invocation, for a call whether the tool failed. */
function outcomeOf(data: unknown): Outcome {
  const { invocationId, failed } = Object(data) as { invocationId?: unknown; failed?: { code?: string } };
  const ids = typeof invocationId === 'string' ? { invocationId } : {};
  if (!failed) return { ...ids, outcome: 'completed' };
  return {
    ...ids,
    outcome: failedOutcome(failed.code),
    ...(failed.code !== undefined && { code: failed.code }),
  };
}

/** Returns the ids of an ask for the log, with the ids of the call or step for which the ask is made. */
export function askIds(agent: string, { parent, step, session }: Ask): Record<string, unknown> {
  const { invocationId, session: of = session } = parent ?? step ?? {};
  const ids = {
    ...(invocationId !== undefined && { invocationId }),
    ...(of !== undefined && { session: of }),
  };
  return { agent, ...ids, ...(parent && { callId: parent.callId, caller: parent.agent }) };
}
