import { createEvent } from '@agentmesh/agent';
import type { Event } from '@agentmesh/protocol';
import { expect, it } from 'vitest';
import { type Span, spansOf } from './spans.ts';

const session = { appName: 'shop', userId: 'ann', sessionId: 's1' };
const invocationId = 'e-1';
type Parts = NonNullable<NonNullable<Event['content']>['parts']>;
const event = (author: string, timestamp: number, parts: Parts, more: Partial<Event> = {}) =>
  createEvent({ invocationId, author, timestamp, content: { role: 'model', parts }, ...more });
const byModel: Partial<Event> = {
  usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 2 },
  modelVersion: 'scripted',
};

const events = [
  event('user', 1_000, [{ text: 'hi' }]),
  event('root', 1_400, [{ functionCall: { id: 'c1', name: 'look', args: { at: 'it' } } }], byModel),
  event('root', 1_500, [{ functionResponse: { id: 'c1', name: 'look', response: { seen: true } } }]),
  event('helper', 2_000, [{ text: 'done' }], { ...byModel, branch: 'root.helper' }),
  event('root', 2_100, [{ text: 'by own code' }]),
];

const times = ({ name, start_time: from, end_time: to }: Span) => [name, from / 1e6, to / 1e6];

it('makes a span of each invocation, agent, model call and tool call, with the times of the log', () => {
  const spans = spansOf(session, events);
  expect(spans.map(times)).toEqual([
    ['invocation', 1_000, 2_100],
    ['invoke_agent root', 1_000, 2_100],
    ['call_llm', 1_000, 1_400],
    ['execute_tool look', 1_400, 1_500],
    ['invoke_agent helper', 1_500, 2_000],
    ['call_llm', 1_500, 2_000],
  ]);
  const [invocation, root, call, tool, helper, last] = spans;
  expect([root, helper].map((span) => span?.parent_span_id)).toEqual([
    invocation?.span_id,
    invocation?.span_id,
  ]);
  expect([call, tool].map((span) => span?.parent_span_id)).toEqual([root?.span_id, root?.span_id]);
  expect(last?.parent_span_id).toBe(helper?.span_id);
  expect(new Set(spans.map(({ span_id: id }) => id)).size).toBe(spans.length);
});

it('names the event, the tokens, the arguments and the result, and says that the prompt is not there', () => {
  const spans = spansOf(session, events);
  const call = spans.find(({ name }) => name === 'call_llm');
  expect(call?.attributes).toMatchObject({
    'gen_ai.operation.name': 'generate_content',
    'gen_ai.conversation.id': 's1',
    'gen_ai.usage.input_tokens': 7,
    'gen_ai.usage.output_tokens': 2,
    'gen_ai.request.model': 'scripted',
    'gcp.vertex.agent.event_id': events[1]?.id,
    'gcp.vertex.agent.invocation_id': invocationId,
    'gcp.vertex.agent.llm_request': expect.stringContaining('not_recorded'),
  });
  expect(spans.find(({ name }) => name === 'execute_tool look')?.attributes).toMatchObject({
    'gen_ai.tool.name': 'look',
    'gcp.vertex.agent.tool_call_args': '{"at":"it"}',
    'gcp.vertex.agent.tool_response': '{"seen":true}',
  });
});

it('gives the same ids at each request, and others to another session', () => {
  const ids = (sessionId: string) => spansOf({ ...session, sessionId }, events).map((span) => span.trace_id);
  expect(ids('s1')).toEqual(ids('s1'));
  expect(ids('s1')).not.toEqual(ids('s2'));
  expect(spansOf(session, [])).toEqual([]);
});

it('has the id of the trace that services have recorded, and names its spans', () => {
  const traceparent = (span: string) => `00-${'ab'.repeat(16)}-${span.repeat(8)}-01`;
  const recorded = events.map((each, at) =>
    at === 0 ? each : { ...each, customMetadata: { 'mesh:trace': traceparent(at < 3 ? 'c1' : 'd2') } },
  );
  const spans = spansOf(session, recorded);
  expect(new Set(spans.map((span) => span.trace_id))).toEqual(new Set(['ab'.repeat(16)]));
  expect(spans.map(({ attributes }) => attributes['mesh:trace'])).toEqual([
    ...[undefined, undefined, traceparent('c1'), traceparent('c1'), undefined, traceparent('d2')],
  ]);
  const odd = events.map((each) => ({ ...each, customMetadata: { 'mesh:trace': { a: 1 } } }));
  expect(spansOf(session, odd)).toEqual(spansOf(session, events));
});
