import { expect, it } from 'vitest';
import { readNewNamedSession, readNewSession } from './new-session.ts';

const event = { id: 'e', invocationId: 'e-1', author: 'user', timestamp: 1, actions: {} };

it.each([
  ['nothing', undefined, {}],
  ['an empty object', {}, {}],
  ['a state', { state: { a: 1 } }, { state: { a: 1 } }],
  [
    'a state and events',
    { state: { a_b: 1 }, events: [event] },
    { state: { a_b: 1 }, events: [{ id: 'e' }] },
  ],
  ['events alone', { events: [event] }, { events: [{ id: 'e' }] }],
  ['nulls', { state: null, events: null }, { state: null }],
  ['a bare state', { a_b: 1, c: null }, { state: { a_b: 1, c: null } }],
  ['a state with such names', { state: { state: 'Texas' } }, { state: { state: 'Texas' } }],
])('reads %s', (_, given, wanted) => {
  expect(readNewNamedSession(given)).toMatchObject(wanted);
});

it.each([
  ['events that are none', { events: [{ what: 1 }] }, /events/],
  ['a state and something else', { state: {}, evnets: [event] }, /"evnets"/],
  ['events and something else', { a: 1, events: [event] }, /"a"/],
  ['a list', [event], /the body/],
  ['a bare state with such names', { state: 'Texas' }, /a state with one of these keys goes into state/],
  ['events of null', { events: [null] }, /events\.0/],
  ['a number of events', { events: 5 }, /events/],
  ['an id of the session', { sessionId: 'q' }, /"sessionId"/],
  ['an id of the session in snake case', { session_id: 'q' }, /"sessionId"/],
])('refuses %s', (_, given, words) => {
  expect(() => readNewNamedSession(given)).toThrow(words);
});

it.each([
  ['no author', { author: '' }, /events\.1\.author: must be user or the name of an agent/],
  ['an author of spaces', { author: ' ' }, /events\.1\.author: /],
  ['an author with a line break', { author: 'a\r\nb' }, /events\.1\.author: /],
  ['a long author', { author: 'a'.repeat(300) }, /events\.1\.author: /],
  ['no invocation', { invocationId: '' }, /events\.1\.invocationId: must not be empty/],
  ['another role', { content: { role: 'system', parts: [{ text: 'x' }] } }, /events\.1\.content\.role: /],
  [
    'an empty part',
    { content: { role: 'user', parts: [{}] } },
    /events\.1\.content\.parts: has an empty part/,
  ],
  ['a time before 1970', { timestamp: -1 }, /events\.1\.timestamp: must be a time from 1970 on/],
  ['a time in seconds before all dates', { timestamp: -8.64e15 }, /events\.1\.timestamp: /],
  [
    'a time behind all dates',
    { timestamp: 8.65e15 },
    /events\.1\.timestamp: must be a time that a date holds/,
  ],
  ['a time as text', { timestamp: 'NaN' }, /events\.1\.timestamp: .*number/],
  ['a time of null', { timestamp: null }, /events\.1\.timestamp: .*number/],
])('refuses an imported event with %s, by its number and field', (_, fields, words) => {
  const body = { events: [event, { ...event, id: 'f', ...fields }] };
  expect(() => readNewSession(body)).toThrow(words);
  expect(() => readNewNamedSession(body)).toThrow(words);
});

it('names the first of many problems', () => {
  const all = Array.from({ length: 5_000 }, (_, n) => ({ ...event, id: `e${n}`, author: '' }));
  expect(() => readNewSession({ events: all })).toThrow(/events\.9\.author: [^;]*; and 4990 more$/);
});

it('refuses fields that the other body does not have', () => {
  expect(readNewSession({ session_id: 's', state: null })).toMatchObject({ sessionId: 's' });
  expect(() => readNewSession({ session: 's' })).toThrow(/"session"/);
});

it('reads events as ADK for Python dumps them, with null for missing values', () => {
  const call = { id: 'c', args: { a: null }, name: 'f', partial_args: null, will_continue: null };
  const part = { video_metadata: null, thought: null, inline_data: null, function_call: call, text: null };
  const actions = {
    skip_summarization: null,
    state_delta: { gone: null },
    artifact_delta: {},
    transfer_to_agent: null,
    escalate: null,
    requested_auth_configs: {},
    requested_tool_confirmations: {},
    compaction: null,
    end_of_agent: null,
    agent_state: null,
    rewind_before_invocation_id: null,
  };
  const dumped = {
    ...{ id: 'e', invocation_id: 'e-1', author: 'a', timestamp: 1.5, actions, branch: null, partial: null },
    ...{ content: { parts: [part], role: 'model' }, long_running_tool_ids: null, custom_metadata: null },
    ...{ usage_metadata: null, error_code: null, turn_complete: null, interrupted: null },
  };
  const wanted = {
    ...{ id: 'e', invocationId: 'e-1', author: 'a', timestamp: 1.5 },
    content: { role: 'model', parts: [{ functionCall: { id: 'c', name: 'f', args: { a: null } } }] },
    actions: {
      ...{ stateDelta: { gone: null }, artifactDelta: {} },
      ...{ requestedAuthConfigs: {}, requestedToolConfirmations: {} },
    },
  };
  expect(readNewSession({ events: [dumped] }).events).toEqual([wanted]);
});
