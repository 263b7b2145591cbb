import type { OnFailure } from '@agentmesh/agent';
import {
  type Ask,
  type Event,
  type Frame,
  MeshError,
  type RunCommand,
  replicaKey,
} from '@agentmesh/protocol';
import type { Logger } from '@agentmesh/service';

/** The cost of a piece of work so far, and when it began. */
export interface Tally {
  /** Counts the model calls and tokens of an event. */
  note(event: Pick<Event, 'partial' | 'usageMetadata'>): void;
  /** Number of times that the work was begun, including this time; undefined until it begins. */
  attempt: number | undefined;
  fields(): { durationMs: number; modelCalls: number; tokens: number; attempt?: number };
}

export function createTally(): Tally {
  const began = performance.now();
  let modelCalls = 0;
  let tokens = 0;
  return {
    attempt: undefined,
    note({ partial, usageMetadata }) {
      if (partial || !usageMetadata) return;
      modelCalls += 1;
      tokens += usageMetadata.totalTokenCount ?? 0;
    },
    fields() {
      const durationMs = Math.round(performance.now() - began);
      return { durationMs, modelCalls, tokens, ...(this.attempt !== undefined && { attempt: this.attempt }) };
    },
  };
}

/** Returns a function that logs errors of tools and models, once, where they happen. */
export function logFailures(log: Logger): OnFailure {
  return ({ what, name, sessionId, callId, error, ...ids }) =>
    log.warn(
      { [what]: name, session: sessionId, ...(callId !== undefined && { callId }), ...ids, err: error },
      what === 'tool' ? 'a tool threw: the model is told' : 'a model call failed',
    );
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
  tally: Tally,
  outcome: 'completed' | 'failed' | 'given back',
  code?: string,
): void {
  if (tally.attempt === undefined) return;
  const { app, session, invocationId, resume, hop } = run;
  const ids = { app, session, invocationId, ...(resume !== undefined && { resume }), hop };
  log.info({ ...ids, outcome, ...(code !== undefined && { code }), ...tally.fields() }, 'run ended');
}

/** Passes the frames of an answer on, and logs its end in one line. */
export async function* withOutcome(
  log: Logger,
  message: 'ask ended' | 'call ended',
  ids: Record<string, unknown>,
  frames: AsyncIterable<Frame>,
): AsyncGenerator<Frame, void, void> {
  const tally = createTally();
  const end: Record<string, unknown> = { outcome: 'cancelled' };
  try {
    for await (const frame of frames) {
      if (frame.type === 'event') tally.note(frame.data as Event);
      if (frame.type === 'result') Object.assign(end, outcomeOf(frame.data));
      yield frame;
    }
  } catch (error) {
    Object.assign(end, { outcome: 'failed', code: MeshError.from(error).code });
    throw error;
  } finally {
    const { durationMs, ...costs } = tally.fields();
    log.info({ ...ids, ...end, durationMs, ...(message === 'ask ended' && costs) }, message);
  }
}

/** Returns the log fields of a result: for an ask the invocation, for a call whether the tool failed. */
function outcomeOf(data: unknown): Record<string, unknown> {
  const { invocationId, failed } = Object(data) as { invocationId?: unknown; failed?: { code?: string } };
  const ids = typeof invocationId === 'string' ? { invocationId } : {};
  if (!failed) return { ...ids, outcome: 'completed' };
  return { ...ids, outcome: 'failed', ...(failed.code !== undefined && { code: failed.code }) };
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
