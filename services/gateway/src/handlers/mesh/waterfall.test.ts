import { createEvent } from '@agentmesh/agent';
import { attemptKey, replicaKey } from '@agentmesh/protocol';
import { expect, it } from 'vitest';
import { barsOf, hasOpenCalls, tokensIn } from './waterfall.ts';

const at = (timestamp: number, author: string, replica: string, fields: object = {}) => ({
  ...createEvent({ invocationId: 'i', author, ...fields }),
  timestamp,
  ...(author !== 'user' && { customMetadata: { [replicaKey]: replica } }),
});
const says = (text: string) => ({ content: { role: 'model', parts: [{ text }] } });
const calls = (id: string, name: string) => ({
  content: { role: 'model', parts: [{ functionCall: { id, name, args: { a: 1 } } }] },
});
const answers = (id: string, name: string, response: object) => ({
  content: { role: 'user', parts: [{ functionResponse: { id, name, response } }] },
});
const usage = { modelVersion: 'm', usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2 } };

it('shows agents with their model calls and tool calls, and a takeover', () => {
  const events = [
    at(1_000, 'user', '', says('hello')),
    at(1_200, 'shop', 'shop-1', { ...usage, ...calls('c1', 'look') }),
    at(1_500, 'shop', 'shop-2', answers('c1', 'look', { error: 'broken' })),
    at(1_900, 'shop', 'shop-2', { ...usage, ...says('done') }),
  ];
  const bars = barsOf({ parent: 'i', events, isOpen: false });
  expect(bars).toMatchObject([
    { kind: 'agent', name: 'shop', parent: 'i', from: 1_000, to: 1_900, replicas: ['shop-1', 'shop-2'] },
    { kind: 'model', name: 'm', from: 1_000, to: 1_200, tokens: { input: 5, output: 2 }, output: '→ look' },
    { kind: 'tool', name: 'look', from: 1_200, to: 1_500, error: 'broken', input: '{"a":1}' },
    { kind: 'model', from: 1_500, to: 1_900, output: 'done' },
  ]);
  expect(new Set(bars.map(({ id }) => id)).size).toBe(bars.length);
  expect(tokensIn(events)).toEqual({ input: 10, output: 4 });
});

const attempt = (mark: object, event: ReturnType<typeof at>) => ({
  ...event,
  customMetadata: { ...event.customMetadata, [attemptKey]: mark },
});

it('shows the wait for the session, each attempt, and the time that a takeover lost', () => {
  const events = [
    at(2_000, 'user', '', says('hello')),
    attempt(
      { number: 1, began: 2_000, waitsSince: 500 },
      at(2_300, 'shop', 'shop-1', { ...usage, ...calls('c1', 'look') }),
    ),
    at(2_500, 'shop', 'shop-1', answers('c1', 'look', { found: true })),
    attempt({ number: 2, began: 9_000 }, at(9_400, 'shop', 'shop-2', { ...usage, ...says('done') })),
  ];
  const bars = barsOf({ parent: 'i', events, isOpen: false });
  expect(bars.slice(0, 5)).toMatchObject([
    { kind: 'queue', name: 'wait for the session', from: 500, to: 2_000 },
    { kind: 'attempt', name: 'attempt 1', from: 2_000, to: 2_500, replicas: ['shop-1'] },
    {
      kind: 'takeover',
      name: 'takeover by shop-2',
      from: 2_500,
      to: 9_000,
      replicas: ['shop-1', 'shop-2'],
    },
    { kind: 'attempt', name: 'attempt 2', from: 9_000, to: 9_400, replicas: ['shop-2'] },
    { kind: 'agent' },
  ]);
  expect(new Set(bars.map(({ id }) => id)).size).toBe(bars.length);
  const running = barsOf({ parent: 'i', events, isOpen: true });
  expect(running.find(({ name }) => name === 'attempt 2')).not.toHaveProperty('to');
});

it('shows the attempt before a takeover also when it has no mark', () => {
  const events = [
    at(1_000, 'user', '', says('hello')),
    at(1_200, 'shop', 'shop-1', { ...usage, ...calls('c1', 'look') }),
    attempt({ number: 3, began: 5_000 }, at(5_500, 'shop', 'shop-2', { ...usage, ...says('done') })),
  ];
  expect(barsOf({ parent: 'i', events, isOpen: false }).slice(0, 3)).toMatchObject([
    { kind: 'attempt', name: 'earlier attempts', from: 1_000, to: 1_200, replicas: ['shop-1'] },
    { kind: 'takeover', from: 1_200, to: 5_000 },
    { kind: 'attempt', name: 'attempt 3' },
  ]);
});

it('shows a question as a wait, which ends with its answer', () => {
  const asks = at(2_000, 'shop', 'shop-1', {
    ...calls('q', 'adk_request_confirmation'),
    longRunningToolIds: ['q'],
  });
  const [, wait] = barsOf({ parent: 'i', events: [asks], isOpen: false });
  expect(wait).toMatchObject({ kind: 'wait', from: 2_000 });
  expect(wait).not.toHaveProperty('to');
  const answer = at(9_000, 'user', '', answers('q', 'adk_request_confirmation', { confirmed: true }));
  expect(barsOf({ parent: 'i', events: [asks, answer], isOpen: false })[1]).toMatchObject({ to: 9_000 });
  // Where invocations cannot be continued, the answer begins another one.
  const bars = barsOf({ parent: 'i', events: [asks], later: [answer], isOpen: false });
  expect(bars[1]).toMatchObject({ kind: 'wait', to: 9_000 });
  expect([hasOpenCalls([asks]), hasOpenCalls([asks, answer])]).toEqual([true, false]);
});

it.each([
  [
    'confirmation',
    { originalFunctionCall: { name: 'pay' }, toolConfirmation: { hint: '150 for a chair' } },
    { name: 'confirmation of pay', asks: '150 for a chair' },
  ],
  ['credential', { originalFunctionCall: { name: 'calendar' } }, { name: 'sign-in for calendar' }],
  ['input', { message: 'How many?' }, { name: 'input', asks: 'How many?' }],
])('names a question by its tool and its words: %s', (kind, args, shown) => {
  const functionCall = { id: 'q', name: `adk_request_${kind}`, args };
  const content = { role: 'model', parts: [{ functionCall }] };
  const asks = at(2_000, 'shop', 'shop-1', { ...usage, content, longRunningToolIds: ['q'] });
  const [, model, wait] = barsOf({ parent: 'i', events: [asks], isOpen: false });
  expect(model).toMatchObject({ kind: 'model', output: `→ ${shown.name}` });
  expect(wait).toMatchObject({ kind: 'wait', ...shown });
  expect(Object.hasOwn(wait ?? {}, 'asks')).toBe('asks' in shown);
});

it('leaves out the usual hint of a confirmation', () => {
  const hint = 'Please approve: respond with {"confirmed": true}';
  const args = { originalFunctionCall: { name: 'pay' }, toolConfirmation: { hint } };
  const functionCall = { id: 'q', name: 'adk_request_confirmation', args };
  const asks = at(2_000, 'shop', 'shop-1', { content: { role: 'model', parts: [{ functionCall }] } });
  expect(barsOf({ parent: 'i', events: [asks], isOpen: false })[1]).not.toHaveProperty('asks');
});

it('begins a step of a parallel agent at the event before it on its branch', () => {
  const events = [
    at(1_000, 'user', '', says('go')),
    at(1_400, 'one', 'r', { ...usage, ...says('1'), branch: 'all.one' }),
    at(1_700, 'two', 'r', { ...usage, ...says('2'), branch: 'all.two' }),
  ];
  const models = barsOf({ parent: 'i', events, isOpen: false }).filter(({ kind }) => kind === 'model');
  expect(models.map(({ from, to }) => [from, to])).toEqual([
    [1_000, 1_400],
    [1_000, 1_700],
  ]);
});

it('leaves the last agent open while the invocation goes on, and cuts long texts', () => {
  const events = [at(1_000, 'shop', 'r', { ...usage, ...says('x'.repeat(5_000)) })];
  const [agent, model] = barsOf({ parent: 'i', events, isOpen: true });
  expect(agent).not.toHaveProperty('to');
  expect(model?.output).toHaveLength(2_001);
});
