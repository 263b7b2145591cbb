import { randomBytes } from 'node:crypto';
import { App, type Event, getFunctionCalls } from '@agentmesh/agent';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import type { Sample } from '@agentmesh/deploy/samples';
import { agentManifest, toolManifest } from '@agentmesh/mesh';
import { latestFunctionResponses, type ScriptedGemini, startScriptedGemini, until } from '@agentmesh/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { lastText, restClient } from '../rest-client.ts';
import { drawTrace, type ReceivedSpan, type SpanReceiver, startSpanReceiver } from '../span-receiver.ts';
import { clerk, desk, pay } from './one-trace/definitions.ts';

const folder = 'test/scenarios/one-trace';
const ofClerk: Sample = { manifest: agentManifest(clerk), folder: `${folder}/clerk` };
const services: Sample[] = [
  { manifest: agentManifest(new App({ name: 'desk_app', rootAgent: desk })), folder: `${folder}/desk` },
  ofClerk,
  { manifest: toolManifest(pay), folder: `${folder}/pay` },
];
const traceId = randomBytes(16).toString('hex');

let model: ScriptedGemini;
let receiver: SpanReceiver;
let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;
/** True while the model holds back its answer after the payment. */
let isHeld = true;
let held = 0;

beforeAll(async () => {
  receiver = await startSpanReceiver();
  model = await startScriptedGemini({
    script: (request) => {
      const [last] = latestFunctionResponses(request);
      if (last?.response?.status === 'paid') {
        held += 1;
        return isHeld ? { hang: true } : { text: 'paid' };
      }
      const isClerk = request.tools.some(({ name }) => name === 'pay');
      return isClerk
        ? { calls: [{ name: 'pay', args: {} }] }
        : { calls: [{ name: 'transfer_to_agent', args: { agentName: 'clerk' } }] };
    },
  });
  mesh = await launchMesh({
    services,
    ackWaitMs: 1_000,
    env: {
      ...{ MODEL_URL: model.url, MESH_TRACES: 'otlp', OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
      OTEL_BSP_SCHEDULE_DELAY: '100',
    },
  });
  client = restClient(mesh.gatewayUrl);
}, 60_000);
afterAll(async () => {
  await mesh?.[Symbol.asyncDispose]();
  await model?.close();
  await receiver?.[Symbol.asyncDispose]();
});

/** Sends a message in the trace of the client. Returns the events and the id of the span that the client has for it. */
async function send(sessionId: string, newMessage: unknown, invocationId?: string) {
  const clientSpan = randomBytes(8).toString('hex');
  const response = await fetch(`${mesh.gatewayUrl}/run`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent: `00-${traceId}-${clientSpan}-01` },
    body: JSON.stringify({ appName: 'desk_app', userId: 'u1', sessionId, newMessage, invocationId }),
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return { clientSpan, events: (await response.json()) as Event[] };
}

const spans = () => receiver.spans.filter((span) => span.traceId === traceId);
const named = (name: string, service: string) =>
  spans().filter((span) => span.name === name && span.resource['service.name'] === service);

/** Returns the only span that fits. */
function only(found: readonly ReceivedSpan[]): ReceivedSpan {
  const [first, ...others] = found;
  if (!first || others.length > 0) throw new Error(`one span was expected, not ${found.length}`);
  return first;
}

it('one trace shows an invocation over gateway, two agents, a remote tool, an approval and a takeover', async () => {
  const session = await client.createSession('desk_app');
  const asked = await send(session, 'Pay my bill.');
  const [question] = asked.events
    .flatMap(getFunctionCalls)
    .filter(({ name }) => name === 'adk_request_confirmation');
  const whole = [
    'POST /run (gateway)',
    '  invoke_agent desk (agent_desk)',
    '    chat gemini-test (agent_desk)',
    '    execute_tool transfer_to_agent (agent_desk)',
    '    invoke_agent clerk (agent_clerk)',
    '      chat gemini-test (agent_clerk)',
    '      execute_tool pay (agent_clerk)',
    '        execute_tool pay (tool_pay)',
  ];
  await until(() => spans().length >= whole.length, { what: 'the spans up to the question' });
  expect(drawTrace(receiver.spans, traceId)).toEqual(whole);
  const before = new Set(spans());
  const asking = only(named('invoke_agent clerk', 'agent_clerk'));

  // A person approves; the replica that pays dies while its model answers.
  const invocationId = asked.events[0]?.invocationId;
  const functionResponse = { id: question?.id, name: question?.name, response: { confirmed: true } };
  const answering = send(session, { role: 'user', parts: [{ functionResponse }] }, invocationId);
  await until(() => held > 0, { what: 'the model call after the payment' });
  const late = () => spans().filter((span) => !before.has(span));
  await until(() => late().length === 2, { what: 'the spans of the payment' });
  await mesh.processes.find(({ name }) => name === 'clerk')?.kill();
  isHeld = false;
  await mesh.start(ofClerk);
  const answered = await answering;
  expect(lastText(answered.events)).toBe('paid');
  expect(new Set(answered.events.map((event) => event.invocationId))).toEqual(new Set([invocationId]));

  const isDone = ({ attributes }: ReceivedSpan) => attributes['agentmesh.outcome'] === 'completed';
  const requests = () => named('POST /run', 'gateway');
  const takeovers = () => late().filter((span) => span.name === 'invoke_agent clerk' && isDone(span));
  const chats = () => late().filter(({ name }) => name === 'chat gemini-test');
  await until(() => requests().length === 2 && takeovers().length > 0 && chats().length > 0, {
    what: 'the end of the trace',
  });
  const [first, second] = [asked, answered].map(({ clientSpan }) =>
    only(requests().filter(({ parentSpanId }) => parentSpanId === clientSpan)),
  );
  expect(asking.parentSpanId).toBe(only(named('invoke_agent desk', 'agent_desk')).spanId);
  expect(only(named('invoke_agent desk', 'agent_desk')).parentSpanId).toBe(first?.spanId);
  // The span of the killed attempt is lost. The payment below it was sent before, and the takeover has links to the
  // lost span and to the run that asked.
  const ofClerkLate = late().filter(({ resource }) => resource['service.name'] === 'agent_clerk');
  const payment = only(ofClerkLate.filter(({ name }) => name === 'execute_tool pay'));
  const atTool = only(late().filter(({ resource }) => resource['service.name'] === 'tool_pay'));
  expect(atTool.parentSpanId).toBe(payment.spanId);
  const takeover = only(takeovers());
  expect(takeover.parentSpanId).toBe(second?.spanId);
  const linked = takeover.links.map((link) => [link.traceId, link.spanId]).sort();
  expect(linked).toEqual([asking.spanId, payment.parentSpanId].map((id) => [traceId, id]).sort());
  expect(takeover.attributes).toMatchObject({
    'agentmesh.invocation_id': invocationId,
    'gen_ai.conversation.id': session,
  });
  expect(takeover.attributes['agentmesh.attempt']).toBeGreaterThan(1);
  expect(only(chats()).parentSpanId).toBe(takeover.spanId);
  const ids = spans().map(({ attributes }) => attributes['agentmesh.invocation_id']);
  expect(new Set(ids.filter((id) => id !== undefined))).toEqual(new Set([invocationId]));
}, 60_000);
