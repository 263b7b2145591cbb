import { emptyView } from './parts.fixture.ts';
import { renumber, type Spoil } from './spoil-tools.fixture.ts';
import type { Story } from './story.fixture.ts';

/** The breaks of what is left at rest, of deletions, and of the work itself. */
export const restSpoils: Spoil[] = [
  [
    'a deleted session is still there',
    'deletions',
    ({ gone }) => {
      delete gone.deleted;
    },
  ],
  [
    'an event of a deleted session is left',
    'deletions',
    ({ gone, renewed }) => {
      gone.events = renewed.events.slice(0, 1).map(({ seq, event }) => ({
        seq,
        event: { ...event, id: 'left', invocationId: 'e-left', content: { role: 'user', parts: [] } },
      }));
    },
  ],
  [
    'an old message writes into a new session of a deleted id',
    'deletions',
    ({ builder, renewed, runs }) => {
      const events = renewed.events.splice(0);
      runs.old.view = emptyView();
      builder.begin(renewed, runs.old);
      builder.speak(renewed, runs.old, `did ${runs.old.text}`);
      builder.end(runs.old, { status: 'completed' });
      renewed.events.push(...events);
      renumber(renewed);
    },
  ],
  [
    'a session is gone, and nobody deleted it',
    'deletions',
    ({ history }) => {
      const [session] = history.sessions;
      if (session) Object.assign(session, { events: [], state: {}, pending: [], deleted: true });
    },
  ],
  ['a stream has a message', 'nothing-left', ({ history }) => bump(history.rest.streams, 'messages')],
  [
    'a delivery is not acknowledged',
    'nothing-left',
    ({ history }) => bump(history.rest.streams, 'ackPending'),
  ],
  ...(['holders', 'waitingRuns', 'claims', 'jobs', 'orphanKeys'] as const).map(
    (kind): Spoil => [
      `${kind} are left in Redis`,
      'nothing-left',
      ({ history }) => history.rest.redis[kind].push('x'),
    ],
  ),
  ['an object is left', 'nothing-left', ({ history }) => history.rest.objects.push('MESH_CLAIMS_WORK/x')],
  [
    'there is no work',
    'work-done',
    ({ history }) =>
      Object.assign(history, {
        messages: [],
        sessions: [],
        invocations: [],
        executions: [],
        news: [],
        acts: [],
      }) && Object.assign(history.rest, { deadLetters: [] }),
  ],
  [
    'too little work is completed',
    'work-done',
    ({ builder, main, history }) => {
      history.faults.push({ at: builder.tick(), kind: 'pause', target: 'redis', forMs: 1 });
      for (let n = 0; n < 20; n += 1) builder.fail(main, builder.send(main, 'chat'), 'unavailable');
    },
  ],
];

function bump(streams: Story['history']['rest']['streams'], figure: 'messages' | 'ackPending'): void {
  for (const stream of streams) stream[figure] += 1;
}
