import type { Message } from './history.ts';
import { calls, responds, said } from './parts.fixture.ts';
import {
  commitMore,
  copyOf,
  drop,
  eventAt,
  eventsOf,
  failWith,
  insertAfter,
  recordOf,
  renumber,
  reword,
  type Spoil,
  sessionOf,
  swap,
  viewOf,
} from './spoil-tools.fixture.ts';

/** The breaks of histories that an earlier checker called correct, and the other breaks of runs. */
export const runSpoils: Spoil[] = [
  [
    'two runs of a session mix',
    'one-at-a-time',
    ({ main, runs }) =>
      swap(main, main.events.findIndex(({ event }) => event === eventAt(main, runs.next, 0)) - 1),
  ],
  [
    'the order of acceptance is reversed',
    'in-order',
    ({ main, runs }) => {
      const events = eventsOf(main, runs.chat);
      drop(main, ({ invocationId }) => invocationId === runs.chat.invocationId);
      const at = main.events.findIndex(({ event }) => event === eventAt(main, runs.next, -1));
      main.events.splice(at + 1, 0, ...events);
      renumber(main);
    },
  ],
  [
    'a run that was turned away runs',
    'in-order',
    ({ builder, runs }) => {
      const work = sessionOf(builder.history.sessions, 'work');
      const record = builder.history.invocations.findIndex(
        ({ invocationId }) => invocationId === runs.turnedAway.invocationId,
      );
      builder.history.invocations.splice(record, 1);
      builder.begin(work, runs.turnedAway);
      builder.fail(work, runs.turnedAway, 'resource_exhausted');
    },
  ],
  [
    'two runs give the answers of each other',
    'own-answer',
    ({ main, runs }) => {
      reword(main, runs.chat, -1, `did ${runs.next.text}`);
      reword(main, runs.next, -1, `did ${runs.chat.text}`);
    },
  ],
  [
    'the message of a user is in the log twice',
    'own-answer',
    ({ main, runs }) => {
      const message = eventAt(main, runs.chat, 0);
      insertAfter(main, message, copyOf(message, 'again'));
    },
  ],
  [
    'the message of a user is missing',
    'own-answer',
    ({ main, runs }) => {
      const message = eventAt(main, runs.chat, 0);
      drop(main, (event) => event === message);
    },
  ],
  [
    'a message begins two runs',
    'own-answer',
    ({ builder, main, runs }) => {
      const again = { ...runs.nats, invocationId: 'e-again' };
      builder.work(main, again);
    },
  ],
  [
    'the message of a user has other words',
    'own-answer',
    ({ main, runs }) => {
      eventAt(main, runs.chat, 0).content = said('user', 'op:chat:nobody');
    },
  ],
  [
    'a run does not see an update of the run before it',
    'no-lost-update',
    ({ main, runs }) => {
      const before = Number(main.state.count) - 1;
      eventAt(main, runs.lastLocal, -2).actions.stateDelta.count = before;
      main.state.count = before;
    },
  ],
  [
    'the state change of a message is lost',
    'no-lost-update',
    ({ main, runs }) => {
      eventAt(main, runs.change, 0).actions.stateDelta = {};
      delete main.state.mood;
    },
  ],
  [
    'the state is not the sum of its changes',
    'state-is-sum',
    ({ main }) => {
      main.state.mood = 'bad';
    },
  ],
  [
    'a record says completed, and the last word is an error',
    'ended-once',
    (story) => {
      const { cancelled } = story.runs;
      const record = recordOf(story, cancelled);
      const completed = { status: 'completed' as const };
      Object.assign(record, { ...completed, ends: [completed] });
      viewOf(cancelled).ends = [{ ...completed, at: 1 }];
      const isOwn = ({ invocationId }: { invocationId: string }) => invocationId === cancelled.invocationId;
      story.history.news = story.history.news.filter((each) => !isOwn(each));
    },
  ],
  [
    'a run answers, and then ends as cancelled',
    'ended-once',
    ({ main, runs }) => {
      const failure = copyOf(eventAt(main, runs.chat, -1), 'failure', { errorCode: 'cancelled' });
      delete failure.content;
      commitMore(main, runs.chat, failure);
    },
  ],
  [
    'a client is told two ends',
    'ended-once',
    ({ runs }) => {
      viewOf(runs.chat).ends.push({ status: 'failed', code: 'cancelled', at: 9_000 });
    },
  ],
  [
    'a watcher is told another end than the client',
    'ended-once',
    ({ history, runs }) => {
      const { invocationId } = runs.chat;
      history.news.push({ invocationId, status: 'failed', code: 'deadline_exceeded', at: 9_000 });
    },
  ],
  [
    'a run fails with an error of the mesh itself',
    'ended-once',
    (story) => failWith(story, 'nats', 'internal'),
  ],
  [
    'a run is cancelled, and nobody cancelled it',
    'ended-once',
    (story) => failWith(story, 'nats', 'cancelled'),
  ],
  [
    'a run without a deadline exceeds its deadline',
    'ended-once',
    (story) => failWith(story, 'nats', 'deadline_exceeded'),
  ],
  [
    'a run is unavailable, and no server and no process was away',
    'ended-once',
    (story) => failWith(story, 'nats', 'unavailable'),
  ],
  [
    'a run never ends',
    'ended-once',
    (story) => {
      Object.assign(recordOf(story, story.runs.chat), { status: 'running', ends: [] });
    },
  ],
  [
    'two ends of a run are recorded',
    'ended-once',
    (story) => {
      recordOf(story, story.runs.chat).ends.push({ status: 'failed', code: 'internal' });
    },
  ],
  [
    'an accepted message is lost',
    'ended-once',
    (story) => {
      const { main, history, runs } = story;
      drop(main, ({ invocationId }) => invocationId === runs.nats.invocationId);
      Object.assign(recordOf(story, runs.nats), { status: 'running', ends: [] });
      history.news = history.news.filter(({ invocationId }) => invocationId !== runs.nats.invocationId);
    },
  ],
  [
    'a completed run has no last word',
    'ended-once',
    ({ main, runs }) => {
      const word = eventAt(main, runs.nats, -1);
      drop(main, (event) => event === word);
    },
  ],
  [
    'work is not settled',
    'ended-once',
    ({ history }) => history.unsettled.push('front_agent: 1 command waits'),
  ],
  [
    'a refused message is in the log',
    'ended-once',
    ({ runs }) => {
      const refused: Message = runs.chat;
      refused.refused = { code: 'invalid_argument' };
      delete refused.view;
    },
  ],
  [
    'the numbers of a log have a gap',
    'without-gap',
    ({ main }) => {
      const last = main.events.at(-1);
      if (last) last.seq += 1;
    },
  ],
  [
    'an event is in two logs',
    'events-once',
    ({ main, runs, history }) => {
      const renewed = sessionOf(history.sessions, 'renewed');
      const [, word] = renewed.events;
      const { id } = eventAt(main, runs.nats, -1);
      for (const view of history.messages.flatMap(({ view = [] }) => view))
        view.seen = view.seen.map((seen) => (seen === word?.event.id ? id : seen));
      if (word) word.event.id = id;
    },
  ],
];

/** The breaks of calls and their responses. */
export const callSpoils: Spoil[] = [
  [
    'a call has two responses',
    'one-response',
    ({ main, runs }) => {
      const response = eventAt(main, runs.remote, -2);
      const again = copyOf(response, 'again');
      insertAfter(main, response, again);
      const view = viewOf(runs.remote);
      view.seen.splice(-1, 0, again.id);
      view.texts.splice(-1, 0, '');
    },
  ],
  [
    'a completed run has a call without a response',
    'one-response',
    ({ history, runs }) => {
      const work = sessionOf(history.sessions, 'work');
      const response = eventAt(work, runs.nested, -2);
      drop(work, (event) => event === response);
      const view = viewOf(runs.nested);
      view.texts.splice(view.seen.indexOf(response.id), 1);
      view.seen.splice(view.seen.indexOf(response.id), 1);
    },
  ],
  [
    'a call is made twice',
    'one-response',
    ({ main, runs }) => {
      const message = eventAt(main, runs.nats, 0);
      const again = { author: 'front', content: calls('c-twice', 'x') };
      insertAfter(
        main,
        message,
        copyOf(message, 'response', { author: 'front', content: responds('c-twice', 'x', {}) }),
      );
      for (const id of ['second', 'first']) insertAfter(main, message, copyOf(message, id, again));
    },
  ],
  [
    'a question is about a call that is missing',
    'one-response',
    ({ history }) => {
      const work = sessionOf(history.sessions, 'work');
      const { event } =
        work.events.findLast(
          (each) => each.event.content?.parts?.[0]?.functionCall?.name === 'add_confirmed',
        ) ?? {};
      drop(work, (each) => each === event);
      for (const { view } of history.messages) {
        const at = view?.seen.indexOf(event?.id ?? '') ?? -1;
        if (at === -1) continue;
        view?.seen.splice(at, 1);
        view?.texts.splice(at, 1);
      }
    },
  ],
  [
    'a response belongs to no call',
    'one-response',
    ({ main, runs }) => {
      const call = eventAt(main, runs.nats, 0);
      insertAfter(
        main,
        call,
        copyOf(call, 'stray', { author: 'front', content: responds('c-none', 'x', {}) }),
      );
    },
  ],
];
