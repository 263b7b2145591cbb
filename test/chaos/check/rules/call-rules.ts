import { isDeepStrictEqual } from 'node:util';
import { getFunctionResponses } from '@agentmesh/agent';
import { type Found, type GivenAnswer, nameOf, type SessionHistory } from '../history.ts';
import { callsOf, closedCallsOf, type LoggedCall, type LoggedResponse, responsesOf } from '../log.ts';
import { isCopied, type Model } from '../model.ts';

interface Logged {
  session: SessionHistory;
  calls: LoggedCall[];
  responses: Map<string, LoggedResponse[]>;
  closed: Set<string>;
}

function logged(session: SessionHistory): Logged {
  return {
    session,
    calls: callsOf(session.events),
    responses: Map.groupBy(responsesOf(session.events), ({ id }) => id),
    closed: closedCallsOf(session.events),
  };
}

const where = ({ session }: Logged, invocationId: string) => ({ session: nameOf(session), invocationId });

/**
 * Finds calls that a run makes and waits for, without exactly one response, calls that are made twice, responses
 * without a call, and questions about a call that is not in the log. A response may be missing when the run
 * ended with a failure, or waits for somebody outside, and in the session of an agent that is used as a tool,
 * when its caller got a failure.
 */
export function oneResponse(model: Model): Found[] {
  const all = model.history.sessions.map(logged);
  const mayLack = unanswered(model, all);
  return all.flatMap((log) => {
    const known = new Set(log.calls.map(({ id }) => id));
    // A session may be copied in the middle of a run.
    const own = log.calls.filter(({ invocationId }) => !isCopied(log.session, invocationId));
    const wrong = own.flatMap(({ id, name, invocationId, isLong }) => {
      const count = log.responses.get(id)?.length ?? 0;
      if (isLong || count === 1 || log.closed.has(id) || (count === 0 && mayLack(log, invocationId)))
        return [];
      return [{ ...where(log, invocationId), what: `call ${id} of ${name} has ${count} responses` }];
    });
    const twice = own
      .filter(({ id }, at) => own.findIndex((call) => call.id === id) < at)
      .map(({ id, seq, invocationId }) => ({
        ...where(log, invocationId),
        what: `event ${seq} makes call ${id} again`,
      }));
    const baseless = own
      .filter(({ about }) => about !== undefined && !known.has(about))
      .map(({ id, about, invocationId }) => ({
        ...where(log, invocationId),
        what: `question ${id} is about call ${about}, which is not in the log`,
      }));
    const stray = [...log.responses.values()]
      .flat()
      .filter(({ id }) => !known.has(id))
      .map(({ id, seq, invocationId }) => ({
        ...where(log, invocationId),
        what: `event ${seq} responds to call ${id}, which is not in the log`,
      }));
    return [...wrong, ...twice, ...baseless, ...stray];
  });
}

function unanswered(model: Model, all: readonly Logged[]): (log: Logged, invocationId: string) => boolean {
  const failed = new Set(
    model.runs.flatMap(({ ends, invocationId }) => (ends[0]?.status === 'failed' ? [invocationId] : [])),
  );
  const failedCalls = new Set(
    all
      .flatMap(({ responses }) => [...responses.values()].flat())
      .flatMap(({ id, response }) => ('error' in response ? [id] : [])),
  );
  const answered = new Set(all.flatMap(({ responses }) => [...responses.keys()]));
  const sessionOf = new Map(all.flatMap(({ session, calls }) => calls.map(({ id }) => [id, session])));
  // An agent that nobody waits for gives up the agents that it has asked.
  const isGivenUp = ({ callId }: SessionHistory): boolean => {
    if (callId === undefined) return false;
    const caller = sessionOf.get(callId);
    return failedCalls.has(callId) || (!answered.has(callId) && caller !== undefined && isGivenUp(caller));
  };
  return ({ session, calls }, invocationId) =>
    failed.has(invocationId) ||
    isGivenUp(session) ||
    calls.some((call) => call.isLong && call.invocationId === invocationId);
}

/**
 * Finds questions, tickets and jobs whose outcome counted twice, woke their agent twice, was lost, or came
 * from nobody, and calls that stay open although nothing can end them: a call is open exactly when `/pending`
 * shows it, and no cancelled run has an open call.
 */
export function answeredOnce(model: Model): Found[] {
  const cancelled = new Set(
    model.runs.flatMap(({ ends, invocationId }) => (ends.at(-1)?.code === 'cancelled' ? [invocationId] : [])),
  );
  const given = answersOf(model);
  return model.history.sessions.flatMap((session) => {
    const log = logged(session);
    const open = new Set(session.pending.map(({ callId }) => callId));
    const own = log.calls.filter(({ isLong, invocationId }) => isLong && !isCopied(session, invocationId));
    return [
      ...own.flatMap((call) => outcomes(log, call, given.get(call.id))),
      ...own.flatMap((call) => wokenAgain(log, call)),
      ...own.flatMap((call) => openness(log, call, open.has(call.id), cancelled)),
      ...[...open]
        .filter((id) => !log.calls.some((call) => call.id === id))
        .map((id) => ({ session: nameOf(session), what: `call ${id} is pending and is not in the log` })),
    ];
  });
}

/** Finds a first response, or progress, that woke an agent which had it already. */
function wokenAgain(log: Logged, { id, name, invocationId }: LoggedCall): Found[] {
  const all = log.session.events.flatMap(({ seq, event }) =>
    getFunctionResponses(event)
      .filter((response) => response.id === id)
      .map(({ response, willContinue }) => ({
        seq,
        response,
        wakes: event.author === 'user' && willContinue,
      })),
  );
  return all.flatMap(({ seq, response, wakes }, at): Found[] => {
    const first = all.slice(0, at).find((before) => isDeepStrictEqual(before.response, response));
    if (!wakes || !first) return [];
    const what = `call ${id} of ${name} woke its agent again, by event ${seq}, with the response of event ${first.seq}`;
    return [{ ...where(log, invocationId), what }];
  });
}

interface Given extends GivenAnswer {
  messageId: string;
  /**
   * True when the answer must count unless another one did: its sender knows that it was accepted, and Redis has lost
   * nothing.
   */
  isSafe: boolean;
}

function answersOf({ history, runOf }: Model): Map<string, Given[]> {
  const given = history.messages.flatMap((message) =>
    (message.answers ?? []).map((answer) => {
      const isTaken =
        message.via === 'nats'
          ? message.acceptedAt !== undefined && message.deadLetter === undefined
          : runOf(message)?.ends[0]?.status === 'completed';
      return {
        ...answer,
        messageId: message.id,
        isSafe: isTaken && !message.refused && !answer.willContinue && !history.hasLostWrites,
      };
    }),
  );
  return Map.groupBy(given, ({ callId }) => callId);
}

function outcomes(log: Logged, call: LoggedCall, given: readonly Given[] = []): Found[] {
  const { id, name, invocationId } = call;
  const found = log.responses.get(id) ?? [];
  const seqs = found.map(({ seq }) => seq).join(', ');
  const at = where(log, invocationId);
  if (found.length > 1) {
    const woken = found.every(({ isMessage }) => isMessage) ? 'woke its agent' : 'has an outcome';
    return [{ ...at, what: `call ${id} of ${name} ${woken} ${found.length} times: events ${seqs}` }];
  }
  const safe = given.find(({ isSafe }) => isSafe);
  if (found.length === 0 && safe && !log.closed.has(id))
    return [
      { ...at, what: `call ${id} of ${name} has no outcome, and message ${safe.messageId} gave it one` },
    ];
  const [response] = found;
  const finals = given.filter(({ willContinue }) => !willContinue);
  if (!response?.isMessage || finals.length === 0 || isByMesh(log, response)) return [];
  if (finals.some((answer) => isDeepStrictEqual(answer.response, response.response))) return [];
  return [{ ...at, what: `call ${id} of ${name} has an outcome that nobody gave: event ${response.seq}` }];
}

/** Tells whether the mesh gave the outcome: a job that is over, or a deadline that has passed. */
function isByMesh({ session }: Logged, { seq }: LoggedResponse): boolean {
  const metadata = session.events.find((each) => each.seq === seq)?.event.customMetadata;
  const { via } = (metadata?.answeredBy ?? {}) as { via?: string };
  return via === 'deadline' || via === 'job';
}

function openness(
  log: Logged,
  { id, name, invocationId }: LoggedCall,
  isPending: boolean,
  cancelled: ReadonlySet<string>,
): Found[] {
  const at = where(log, invocationId);
  const isOver = log.responses.has(id) || log.closed.has(id);
  if (isPending && isOver) return [{ ...at, what: `call ${id} of ${name} has its outcome, and is pending` }];
  if (isPending && cancelled.has(invocationId))
    return [{ ...at, what: `call ${id} of ${name} is pending, and its run was cancelled` }];
  if (isPending && isDead(log.session, id))
    return [{ ...at, what: `call ${id} of ${name} is pending, and its job is over` }];
  if (isPending || isOver || cancelled.has(invocationId)) return [];
  return [{ ...at, what: `call ${id} of ${name} has no outcome, and is not pending` }];
}

/** Tells whether only a job could end the call, and the job is over. */
function isDead({ pending }: SessionHistory, id: string): boolean {
  const call = pending.find(({ callId }) => callId === id);
  return call?.hasJob === false && call.kind === 'result' && call.deadline === undefined;
}
