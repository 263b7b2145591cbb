import type { Message, RunAgentInput } from '@ag-ui/core';
import { expect, it } from 'vitest';
import type { AgUiRun } from './ag-ui-frames.ts';
import { interruptOf } from './interrupts.ts';
import { clientInputIn, forwardedState, mayAnswer, messageOf } from './read-input.ts';

type Pending = Awaited<ReturnType<AgUiRun['pending']>>;

const waits = (id: string, kind: Pending[number]['kind'] = 'result', more: object = {}) =>
  ({ ...{ id, name: `tool_${id}`, kind, args: {} }, ...more }) as unknown as Pending[number];
const input = (more: Partial<RunAgentInput>): RunAgentInput => ({
  ...{ threadId: 't', runId: 'r', messages: [], tools: [], context: [] },
  ...more,
});
const user: Message = { id: 'm', role: 'user', content: 'go' };
const result = (toolCallId: string, content: string, more: object = {}): Message => ({
  ...{ id: `m-${toolCallId}`, role: 'tool', toolCallId, content },
  ...more,
});
const read = (messages: Message[], pending: Pending = [waits('a'), waits('b')]) =>
  messageOf(input({ messages }), pending).parts;
const answer = (id: string, response: object) => ({
  functionResponse: { id, name: `tool_${id}`, response },
});

it.each([
  ['text', result('a', 'red'), { result: 'red' }],
  ['a list', result('a', '[1]'), { result: '[1]' }],
  ['an object', result('a', '{"color":"red"}'), { color: 'red' }],
  ['parts', result('a', '', { content: [{ type: 'text', text: '{"a":1}' }] }), { a: 1 }],
  ['an error', result('a', '', { error: 'no color' }), { error: 'no color' }],
  ['a part and an error', result('a', 'r', { error: 'no more' }), { error: 'no more', result: 'r' }],
])('reads the result of a tool: %s', (_what, message, response) => {
  expect(read([user, message])).toEqual([answer('a', response)]);
});

it('reads all last results for which a call waits, and leaves those of the mesh out', () => {
  const messages = [user, result('old', '1'), user, result('mesh', '2'), result('a', '3'), result('b', '4')];
  expect(read(messages)).toEqual([answer('a', { result: '3' }), answer('b', { result: '4' })]);
});

it('reads results beside answers to interrupts, and interrupts behind results of the mesh', () => {
  const resume = [{ interruptId: 'q', status: 'resolved' as const, payload: true }];
  const pending = [waits('q', 'confirmation'), waits('a')];
  const confirmed = answer('q', { confirmed: true });
  const both = messageOf(input({ resume, messages: [result('a', '1')] }), pending);
  expect(both.parts).toEqual([confirmed, answer('a', { result: '1' })]);
  const behind = messageOf(input({ resume, messages: [result('mesh', '1')] }), pending);
  expect(behind.parts).toEqual([confirmed]);
  expect([mayAnswer(input({ resume })), mayAnswer(input({ messages: [user] }))]).toEqual([true, false]);
});

it.each([
  ['an unknown call', [result('c', '1')], 'no call c of this thread waits'],
  ['a question', [result('q', '1')], 'no call q of this thread waits'],
  ['a file', [result('a', '', { content: [{ type: 'image' }] })], 'no content of type image'],
])('refuses the result for %s', (_what, messages, reason) => {
  expect(() => read(messages, [waits('a'), waits('q', 'confirmation')])).toThrow(reason);
});

it('reads tools and context, without the fields of the client alone', () => {
  expect(clientInputIn(input({}))).toBeUndefined();
  const parameters = { type: 'object', properties: {} };
  const given = {
    tools: [{ name: 'pick', description: 'picks', parameters, metadata: { a: 1 } }],
    context: [{ description: 'time', value: 'noon', id: 7 }],
  };
  expect(clientInputIn(input(given))).toEqual({
    tools: [{ name: 'pick', description: 'picks', parameters }],
    context: [{ description: 'time', value: 'noon' }],
  });
  expect(() => clientInputIn(input({ tools: [{ name: 'a b', description: '' }] }))).toThrow('tools.0.name');
});

it('makes state of the run from forwarded properties', () => {
  expect(
    [undefined, {}, { a: 1 }, [1]].map((forwardedProps) => forwardedState(input({ forwardedProps }))),
  ).toEqual([...[{}, {}], ...[{ 'temp:forwarded_props': { a: 1 } }, { 'temp:forwarded_props': [1] }]]);
});

it.each(['confirmation', 'input'] as const)('names the tool of an interrupt: %s', (kind) => {
  const args = { originalFunctionCall: { id: 'c', name: 'order', args: {} } };
  expect(interruptOf(waits('q', kind, { args }))).toMatchObject({
    ...{ toolCallId: 'c', metadata: { toolName: 'order' } },
  });
});
