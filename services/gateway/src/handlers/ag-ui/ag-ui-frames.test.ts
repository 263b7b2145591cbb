import { EventSchemas } from '@ag-ui/core/schemas';
import type { Event } from '@agentmesh/protocol';
import { expect, it } from 'vitest';
import { type Frame, LargeFrame } from '../../runs/frame-form.ts';
import { AgUiFrames, type AgUiRun } from './ag-ui-frames.ts';
import { KnownState } from './known-state.ts';
import { messageOf, stateChanges } from './read-input.ts';

type Pending = Awaited<ReturnType<AgUiRun['pending']>>;

function frames(
  state: Record<string, unknown> = {},
  pending: Pending = [],
  { isRepeated = false, seesState = true } = {},
) {
  let now = state;
  const known = new KnownState(state);
  const form = new AgUiFrames({
    ...{ isRepeated, seesState },
    ...{ threadId: 't', runId: 'r', invocationId: 'e', known },
    pending: async () => pending,
    readState: async () => now,
    knowsState: async () => known.isSame(now),
  });
  const change = (other: Record<string, unknown>) => {
    now = other;
  };
  return { form, change };
}

const event = (fields: object): Event => ({
  ...{ id: 'x', invocationId: 'e', timestamp: 0, author: 'desk' },
  actions: {
    ...{ stateDelta: {}, artifactDelta: {}, requestedAuthConfigs: {}, requestedToolConfirmations: {} },
  },
  ...fields,
});
const text = (words: string, more: object = {}) => event({ content: { parts: [{ text: words }] }, ...more });
const piece = (words: string, more: object = {}) => text(words, { partial: true, ...more });

/** Returns the frames as they are sent. */
const sent = (all: readonly Frame[]) =>
  Promise.all(all.map((frame) => (frame instanceof LargeFrame ? frame.read() : frame)));

/** Returns the frames in short, after a check by the schema of AG-UI. */
const short = (all: readonly object[]) =>
  all.map((frame) => {
    const { type, messageId, delta } = EventSchemas.parse(frame) as Record<string, unknown>;
    return [type, messageId, delta].filter((each) => each !== undefined).join(' ');
  });

it('joins the pieces of a message, and adds what no piece had', () => {
  const { form } = frames();
  expect(
    short([...form.event(piece('It ')), ...form.event(piece('is ')), ...form.event(text('It is so'))]),
  ).toEqual([
    ...['TEXT_MESSAGE_START e-1', 'TEXT_MESSAGE_CONTENT e-1 It ', 'TEXT_MESSAGE_CONTENT e-1 is '],
    ...['TEXT_MESSAGE_CONTENT e-1 so', 'TEXT_MESSAGE_END e-1'],
  ]);
});

it('gives a run that began earlier in whole messages until one came when it was committed', () => {
  const { form } = frames({}, [], { isRepeated: true });
  expect(
    short([
      ...form.event(text('Read from the log')),
      // The beginning of this message was missed.
      ...form.event(piece('is ')),
      ...form.event(text('It is so'), true),
      ...form.event(piece('And ')),
      ...form.event(text('And so on'), true),
    ]),
  ).toEqual([
    ...['TEXT_MESSAGE_START e-1', 'TEXT_MESSAGE_CONTENT e-1 Read from the log', 'TEXT_MESSAGE_END e-1'],
    ...['TEXT_MESSAGE_START e-2', 'TEXT_MESSAGE_CONTENT e-2 It is so', 'TEXT_MESSAGE_END e-2'],
    ...['TEXT_MESSAGE_START e-3', 'TEXT_MESSAGE_CONTENT e-3 And '],
    ...['TEXT_MESSAGE_CONTENT e-3 so on', 'TEXT_MESSAGE_END e-3'],
  ]);
});

it('keeps the messages of parallel agents apart', () => {
  const { form } = frames();
  const other = { author: 'other', branch: 'a.b' };
  const all = [piece('A'), piece('B', other), text('B!', other), text('A!')].flatMap((each) =>
    form.event(each),
  );
  expect(short(all).filter((each) => each.includes('CONTENT'))).toEqual([
    ...['TEXT_MESSAGE_CONTENT e-1 A', 'TEXT_MESSAGE_CONTENT e-2 B'],
    ...['TEXT_MESSAGE_CONTENT e-2 !', 'TEXT_MESSAGE_CONTENT e-1 !'],
  ]);
});

it('sends a message as a whole when pieces of it were dropped', () => {
  const { form } = frames();
  form.event(piece('It '));
  form.event(piece('so'));
  expect(short(form.event(text('It is so')))).toEqual([
    'TEXT_MESSAGE_END e-1',
    ...['TEXT_MESSAGE_START e-2', 'TEXT_MESSAGE_CONTENT e-2 It is so', 'TEXT_MESSAGE_END e-2'],
  ]);
});

it('leaves out thoughts, questions and temporary state', () => {
  const { form } = frames();
  const parts = [
    { text: 'hm', thought: true },
    { functionCall: { id: 'q', name: 'adk_request_confirmation' } },
  ];
  const actions = { ...event({}).actions, stateDelta: { 'temp:a': 1, 'a/b~c': 2 } };
  expect(form.event(event({ content: { parts }, actions }))).toEqual([
    { type: 'STATE_DELTA', delta: [{ op: 'add', path: '/a~1b~0c', value: 2 }] },
  ]);
});

it('sends the state again when another run has changed it', async () => {
  const { form, change } = frames({ a: 1 });
  expect(await sent(await form.end())).toMatchObject([{ type: 'RUN_FINISHED' }]);
  change({ a: 2 });
  const ended = await sent(await form.end());
  expect(ended[0]).toEqual({ type: 'STATE_SNAPSHOT', snapshot: { a: 2 } });
  for (const frame of ended) EventSchemas.parse(frame);
});

it('ends messages that are open, and failures by their code', async () => {
  const { form } = frames();
  form.event(piece('It '));
  expect(short(await form.end())).toEqual(['TEXT_MESSAGE_END e-1', 'RUN_FINISHED']);
  expect(form.failure({ error: 'no', code: 'unavailable', traceId: 't' } as never)).toEqual({
    ...{ type: 'RUN_ERROR', message: 'no', code: 'unavailable' },
  });
});

const waiting = (kind: Pending[number]['kind']) =>
  [{ ...{ id: 'q', name: `adk_request_${kind}`, kind, args: {} } }] as unknown as Pending;
const input = (resume: object) =>
  ({ threadId: 't', runId: 'r', messages: [], tools: [], context: [], resume: [resume] }) as never;

it.each([
  ['confirmation', { status: 'resolved', payload: true }, { confirmed: true }],
  [
    'confirmation',
    { status: 'resolved', payload: { confirmed: true, payload: 3 } },
    { confirmed: true, payload: 3 },
  ],
  ['confirmation', { status: 'cancelled' }, { confirmed: false }],
  ['input', { status: 'resolved', payload: 'Rome' }, { result: 'Rome' }],
  ['input', { status: 'resolved', payload: { city: 'Rome' } }, { city: 'Rome' }],
] as const)('answers a question: %s %o', (kind, entry, response) => {
  const { parts } = messageOf(input({ interruptId: 'q', ...entry }), waiting(kind));
  expect(parts).toEqual([{ functionResponse: { id: 'q', name: `adk_request_${kind}`, response } }]);
});

it.each([
  ['input', { status: 'cancelled' }, 'only a confirmation can be cancelled'],
  ['confirmation', { status: 'resolved', payload: 'yes' }, 'must be an object, such as {"confirmed": true}'],
  ['credential', { status: 'resolved' }, 'must be an object'],
] as const)('refuses an answer: %s %o', (kind, entry, reason) => {
  expect(() => messageOf(input({ interruptId: 'q', ...entry }), waiting(kind))).toThrow(reason);
});

it('finds what a client has changed in the state', () => {
  const state = { a: 1, b: { c: [1] } };
  expect(stateChanges({ a: 1, b: { c: [2] }, d: null }, state)).toEqual({ b: { c: [2] }, d: null });
  expect(stateChanges(undefined, state)).toEqual({});
  expect(() => stateChanges([1], state)).toThrow('state must be an object');
});

it('reads a large state when its snapshot is sent', async () => {
  const large = 'x'.repeat(10_000);
  const { form, change } = frames({ large });
  change({ large, b: 1 });
  const [, snapshot] = form.begin();
  expect(snapshot).toBeInstanceOf(LargeFrame);
  expect(await sent([snapshot ?? {}])).toEqual([{ type: 'STATE_SNAPSHOT', snapshot: { large, b: 1 } }]);
  change({ large });
  expect(await sent(await form.end())).toMatchObject([{ type: 'RUN_FINISHED' }]);
  form.event(event({ actions: { ...event({}).actions, stateDelta: { b: 2 } } }));
  change({ large, b: 2 });
  expect(await sent(await form.end())).toMatchObject([
    { type: 'STATE_SNAPSHOT', snapshot: { large, b: 2 } },
    { type: 'RUN_FINISHED' },
  ]);
});

it('ends with the error of a model that says nothing afterwards', async () => {
  const blocked = event({ errorCode: 'SAFETY', errorMessage: 'the answer was blocked' });
  const one = frames().form;
  one.event(text('I look'));
  one.event(blocked);
  const ended = await sent(await one.end());
  expect(ended.map((frame) => EventSchemas.parse(frame))).toEqual([
    { type: 'RUN_ERROR', code: 'SAFETY', message: 'the answer was blocked' },
  ]);
  const another = frames().form;
  another.event(blocked);
  another.event(text('Sorry'));
  expect(await sent(await another.end())).toMatchObject([{ type: 'RUN_FINISHED' }]);
});

it('shows files of an agent as activities, and no files of the user', () => {
  const { form } = frames();
  const parts = [
    { text: 'here' },
    { inlineData: { data: 'cGl4', mimeType: 'image/png' } },
    { fileData: { fileUri: 'https://files.example/a.pdf', mimeType: 'application/pdf' } },
  ];
  const all = form.event(event({ content: { parts } })).map((frame) => EventSchemas.parse(frame));
  expect(all.slice(3)).toMatchObject([
    {
      type: 'ACTIVITY_SNAPSHOT',
      activityType: 'media',
      content: { type: 'image', source: { type: 'data', value: 'cGl4', mimeType: 'image/png' } },
    },
    { content: { type: 'document', source: { type: 'url', value: 'https://files.example/a.pdf' } } },
  ]);
  expect(form.event(event({ author: 'user', content: { parts } })).length).toBe(3);
});

it('tells an approver nothing about the state', async () => {
  const { form, change } = frames({ secret: 1 }, [], { seesState: false });
  const changed = form.event(text('done', { actions: { ...event({}).actions, stateDelta: { secret: 2 } } }));
  change({ secret: 3 });
  const all = await sent([...form.begin(), ...changed, ...(await form.end())]);
  expect(JSON.stringify(all)).not.toContain('secret');
  expect(all.at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
});
