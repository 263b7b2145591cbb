import { isDeepStrictEqual } from 'node:util';
import { type DeadLetter, type Found, type Message, nameOf, type SessionHistory } from '../history.ts';
import { callsOf, closedCallsOf, type LoggedResponse, responsesOf } from '../log.ts';
import type { Model } from '../model.ts';

/**
 * Finds dead letters that no message provoked: on purpose, or as the outcome of a call that has another outcome
 * already, was closed, or is gone with its session, or because five processes died at a run. A job's own report
 * is never such an outcome, since the job belongs to its call. When NATS forgot that a large message was settled,
 * the message comes again, and its payload is gone.
 */
export function deadLetters(model: Model): Found[] {
  const { sessions, messages, rest } = model.history;
  const outcomes = new Map(
    sessions.flatMap(({ events }) => responsesOf(events)).map((response) => [response.id, response]),
  );
  const closed = new Set(sessions.flatMap(({ events }) => [...closedCallsOf(events)]));
  return rest.deadLetters.flatMap((letter): Found[] => {
    const isProvoked = messages.some(
      (message) => isOnPurpose(message, letter) || isLate(model, message, letter, { outcomes, closed }),
    );
    const { subject, code, message } = letter;
    const what = `${subject} became a dead letter (${code}): ${message}`;
    return isProvoked || isDeadly(model, letter) || isSettled(model, letter)
      ? []
      : [{ ...placeOf(sessions, letter), what }];
  });
}

/** Returns the session of the call that a dead letter is about, if it is known. */
function placeOf(sessions: readonly SessionHistory[], letter: DeadLetter): Omit<Found, 'what'> {
  const session = sessions.find(({ events }) => callsOf(events).some(({ id }) => holds(letter, id)));
  return session ? { session: nameOf(session) } : {};
}

function isOnPurpose({ deadLetter, invocationId, text, answers = [] }: Message, letter: DeadLetter): boolean {
  const names = [invocationId, text, ...answers.map(({ callId }) => callId)];
  return deadLetter === letter.code && names.some((name) => name !== undefined && holds(letter, name));
}

const holds = ({ subject, payload }: DeadLetter, name: string) => `${subject} ${payload}`.includes(name);

const isSettled = ({ forgetsAcks }: Model, { code, message }: DeadLetter) =>
  forgetsAcks && code === 'failed_precondition' && /^the payload of .* is not there any more/.test(message);

/** Tells whether so many processes of an agent died that a run had to be given up. */
function isDeadly({ history }: Model, { subject, message }: DeadLetter): boolean {
  const deaths = Number(/^(\d+) processes died at this run/.exec(message)?.[1] ?? Number.POSITIVE_INFINITY);
  const agent = subject.split('.').at(-3);
  return (
    history.lives.filter(({ replica, diedAt }) => replica.startsWith(`${agent}/`) && diedAt).length >= deaths
  );
}

/** Tells whether a message gave an outcome that came too late. */
function isLate(
  model: Model,
  message: Message,
  letter: DeadLetter,
  { outcomes, closed }: { outcomes: ReadonlyMap<string, LoggedResponse>; closed: ReadonlySet<string> },
): boolean {
  if (message.via !== 'nats') return false;
  return (message.answers ?? []).some(({ callId, response }) => {
    if (!holds(letter, callId) || !holds(letter, JSON.stringify(response))) return false;
    if (letter.code === 'not_found') return model.isDeleted(message.session, message);
    const outcome = outcomes.get(callId);
    const isOther = outcome && !isDeepStrictEqual(outcome.response, response);
    return letter.code === 'failed_precondition' && (isOther || closed.has(callId));
  });
}
