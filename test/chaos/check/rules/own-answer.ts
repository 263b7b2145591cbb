import { failureEventId, messageEventId, type StoredEvent } from '@agentmesh/agent/internal';
import { type Found, type Message, nameOf, type SessionHistory } from '../history.ts';
import { isAside, isEnd, isRewind, textOf } from '../log.ts';
import { isCopied, type Model, type RunHistory } from '../model.ts';

/**
 * Finds runs that did not answer their own message: a run begins with its message, which is in the log once,
 * and the last words of a completed run answer this message. A message that nobody sent is a violation too.
 */
export function ownAnswer(model: Model): Found[] {
  const known = new Set(model.history.messages.flatMap(({ text }) => (text === undefined ? [] : [text])));
  return [
    ...model.runs.flatMap((run) => (run.events.length === 0 ? [] : messageOf(model, run))),
    ...model.runs.flatMap((run) => answerOf(model, run)),
    ...model.roots.flatMap((session) => fromNowhere(session, known)),
    ...model.roots.flatMap(saidAgain),
  ];
}

function messageOf(model: Model, run: RunHistory): Found[] {
  const { message, events } = run;
  const where = model.place(run);
  const own = events.filter(({ event }) => event.author === 'user');
  // A run that ended before it began may have only the event of its failure.
  if (events.length === 1 && events[0]?.event.id === failureEventId(run)) return [];
  if (own.length === 0) return [{ ...where, what: 'its message is not in the log' }];
  if (own.length > 1) {
    const seqs = own.map(({ seq }) => seq).join(', ');
    return [{ ...where, what: `its message is in the log ${own.length} times: events ${seqs}` }];
  }
  const [first] = events;
  const id = messageEventId(run, run.session.sessionId);
  if (first?.event.id !== id)
    return [{ ...where, what: `it begins with event ${first?.event.id}, not with its message` }];
  if (!message || isSame(message, first)) return [];
  return [{ ...where, what: `it began with another message than ${message.id}` }];
}

function isSame({ text, answers = [] }: Message, { event }: StoredEvent): boolean {
  if (text !== undefined) return textOf(event) === text;
  const answered = new Set(event.content?.parts?.map(({ functionResponse }) => functionResponse?.id));
  return answers.every(({ callId }) => answered.has(callId));
}

function answerOf(model: Model, run: RunHistory): Found[] {
  const { message, ends, events } = run;
  if (!message?.expected || ends[0]?.status !== 'completed') return [];
  const words = events
    .filter(({ event }) => isEnd(event) && event.errorCode === undefined)
    .map(({ event }) => textOf(event));
  const wrong = words.find((text) => !message.expected?.includes(text));
  if (wrong === undefined) return [];
  const what = `its answer is ${JSON.stringify(wrong)}, and its message, ${message.id}, asks for ${message.expected.map((text) => JSON.stringify(text)).join(' or ')}`;
  return [{ ...model.place(run), what }];
}

function fromNowhere(session: SessionHistory, known: ReadonlySet<string>): Found[] {
  return session.events.flatMap(({ seq, event }): Found[] => {
    const text = textOf(event);
    if (event.author !== 'user' || text === '' || known.has(text)) return [];
    if (isAside(event) || isRewind(event) || isCopied(session, event.invocationId)) return [];
    const what = `event ${seq} is a message that no client sent: ${JSON.stringify(text)}`;
    return [{ session: nameOf(session), invocationId: event.invocationId, what }];
  });
}

/** Finds messages that began two runs. No client sends the same text to a session twice. */
function saidAgain(session: SessionHistory): Found[] {
  const first = new Map<string, string>();
  return session.events.flatMap(({ seq, event }): Found[] => {
    const text = textOf(event);
    if (event.author !== 'user' || text === '') return [];
    const before = first.get(text);
    if (before === undefined) first.set(text, event.invocationId);
    if (before === undefined || before === event.invocationId) return [];
    const what = `event ${seq} is the message of ${before} again: ${JSON.stringify(text)}`;
    return [{ session: nameOf(session), invocationId: event.invocationId, what }];
  });
}
