import { randomBytes } from 'node:crypto';
import { type Event, getFunctionCalls } from '@agentmesh/agent';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { latestFunctionResponses, type ScriptedGemini, startScriptedGemini, until } from '@agentmesh/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { restClient } from '../rest-client.ts';
import { drawTrace, type ReceivedSpan, type SpanReceiver, startSpanReceiver } from '../span-receiver.ts';

const needed = [
  ...['customer_agent', 'support_agent', 'assistant_agent', 'summary_agent'],
  ...['weather_agent', 'get_weather', 'time_off_agent', 'stock_agent'],
  ...['file_agent', 'process_large_file'],
];
const stock = samples.find(({ manifest }) => manifest.name === 'stock_agent');
if (!stock) throw new Error('the stock sample is gone');

/** The arguments with which the model calls the first of its tools. */
const argsOf: Record<string, Record<string, unknown>> = {
  check_urgency: { request: 'urgent' },
  summary_agent: { request: 'a secret text' },
  get_weather: { city: 'Paris' },
  request_time_off: { days: 3 },
  get_stock_price: { ticker: 'GOOG' },
  process_large_file: { name: 'a.txt', megabytes: 1 },
};

let model: ScriptedGemini;
let receiver: SpanReceiver;
let mesh: LocalMesh;
let client: ReturnType<typeof restClient>;
/** Whether the model holds back the answer of the stock agent. */
let hold = false;

beforeAll(async () => {
  receiver = await startSpanReceiver();
  model = await startScriptedGemini({
    script: (request) => {
      const tool = request.tools.find(({ name = '' }) => name in argsOf)?.name;
      if (tool !== undefined && latestFunctionResponses(request).length === 0)
        return { calls: [{ name: tool, args: argsOf[tool] ?? {} }] };
      return hold && tool === 'get_stock_price' ? { hang: true } : { text: 'done' };
    },
  });
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => needed.includes(manifest.name)),
    ackWaitMs: 1_000,
    env: {
      GOOGLE_GEMINI_BASE_URL: model.url,
      GEMINI_API_KEY: 'scripted',
      MESH_TRACES: 'otlp',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
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

interface Asked {
  traceId: string;
  /** The id of the span of the client, which it does not send to the receiver. */
  clientSpan: string;
  session: string;
  events: Event[];
}

/** Sends a message with a trace of the client. */
async function ask(app: string, newMessage: unknown, given?: string): Promise<Asked> {
  const session = given ?? (await client.createSession(app));
  const traceId = randomBytes(16).toString('hex');
  const clientSpan = randomBytes(8).toString('hex');
  const response = await fetch(`${mesh.gatewayUrl}/run`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent: `00-${traceId}-${clientSpan}-01` },
    body: JSON.stringify({ appName: app, userId: 'u1', sessionId: session, newMessage }),
  });
  expect(response.status).toBe(200);
  return { traceId, clientSpan, session, events: (await response.json()) as Event[] };
}

const spansOf = (traceId: string) => receiver.spans.filter((span) => span.traceId === traceId);

/** Draws a trace once the span of its request and as many spans as are expected have arrived. */
async function drawn(traceId: string, count: number): Promise<string[]> {
  const isWhole = (spans: ReceivedSpan[]) =>
    spans.length >= count && spans.some(({ name }) => name === 'POST /run');
  await until(() => isWhole(spansOf(traceId)), { what: `${count} spans of a trace` });
  return drawTrace(receiver.spans, traceId);
}

function spanNamed(traceId: string, name: string, service: string): ReceivedSpan {
  const found = spansOf(traceId).filter(
    (span) => span.name === name && span.resource['service.name'] === service,
  );
  if (!found[0] || found.length > 1) throw new Error(`${found.length} spans ${name} of ${service}`);
  return found[0];
}

describe('the trace of an invocation', () => {
  it('leads from the request of the client through the gateway to both agents of a transfer', async () => {
    const { traceId, clientSpan, session, events } = await ask('customer_app', 'urgent');
    expect(await drawn(traceId, 6)).toEqual([
      'POST /run (gateway)',
      '  invoke_agent customer_agent (agent_customer_agent)',
      '    chat gemini-2.5-flash (agent_customer_agent)',
      '    execute_tool check_urgency (agent_customer_agent)',
      '    invoke_agent support_agent (agent_support_agent)',
      '      chat gemini-2.5-flash (agent_support_agent)',
    ]);
    const request = spanNamed(traceId, 'POST /run', 'gateway');
    expect(request.parentSpanId).toBe(clientSpan);
    expect(request.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/run',
      'url.scheme': 'http',
      'http.response.status_code': 200,
    });
    const run = spanNamed(traceId, 'invoke_agent customer_agent', 'agent_customer_agent');
    expect(run.attributes).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'customer_agent',
      'gen_ai.agent.id': 'customer_agent',
      'gen_ai.provider.name': 'gcp.gemini',
      'gen_ai.request.model': 'gemini-2.5-flash',
      'gen_ai.conversation.id': session,
      'agentmesh.app': 'customer_app',
      'agentmesh.invocation_id': events[0]?.invocationId,
      'agentmesh.work': 'run',
      'agentmesh.hop': 0,
      'agentmesh.attempt': 1,
      'agentmesh.outcome': 'completed',
    });
    expect(run.resource).toMatchObject({
      'service.instance.id': expect.stringMatching(/^agent_customer_agent-\d+-/),
      'service.version': '0.1.0',
    });
  });

  it('leads to the agent that another agent asks, without what they say', async () => {
    const { traceId } = await ask('assistant_app', 'Summarise a secret text.');
    expect(await drawn(traceId, 7)).toEqual([
      'POST /run (gateway)',
      '  invoke_agent assistant_agent (agent_assistant_agent)',
      '    chat gemini-2.5-flash (agent_assistant_agent)',
      '    execute_tool summary_agent (agent_assistant_agent)',
      '      invoke_agent summary_agent (agent_summary_agent)',
      '        chat gemini-2.5-flash (agent_summary_agent)',
      '    chat gemini-2.5-flash (agent_assistant_agent)',
    ]);
    expect(JSON.stringify(spansOf(traceId))).not.toContain('secret');
    expect(spanNamed(traceId, 'chat gemini-2.5-flash', 'agent_summary_agent').attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'gcp.gemini',
      'gen_ai.request.model': 'gemini-2.5-flash',
      'gen_ai.response.finish_reasons': expect.anything(),
      'gen_ai.usage.input_tokens': expect.any(Number),
      'gen_ai.usage.output_tokens': expect.any(Number),
    });
  });

  it('leads to a tool in another process, with the id of the call', async () => {
    const { traceId, events } = await ask('weather_app', 'Paris?');
    expect(await drawn(traceId, 6)).toEqual([
      'POST /run (gateway)',
      '  invoke_agent weather_agent (agent_weather_agent)',
      '    chat gemini-2.5-flash (agent_weather_agent)',
      '    execute_tool get_weather (agent_weather_agent)',
      '      execute_tool get_weather (tool_get_weather)',
      '    chat gemini-2.5-flash (agent_weather_agent)',
    ]);
    const [call] = events.flatMap(getFunctionCalls);
    for (const service of ['agent_weather_agent', 'tool_get_weather']) {
      expect(spanNamed(traceId, 'execute_tool get_weather', service).attributes).toMatchObject({
        'gen_ai.tool.name': 'get_weather',
        'gen_ai.tool.call.id': call?.id,
      });
    }
  });

  it('leads to the worker of a job', async () => {
    const { traceId } = await ask('file_app', 'Process a.txt.');
    expect(await drawn(traceId, 7)).toEqual([
      'POST /run (gateway)',
      '  invoke_agent file_agent (agent_file_agent)',
      '    chat gemini-2.5-flash (agent_file_agent)',
      '    execute_tool process_large_file (agent_file_agent)',
      '      execute_tool process_large_file (tool_process_large_file)',
      '        execute_tool process_large_file (tool_process_large_file)',
      '    chat gemini-2.5-flash (agent_file_agent)',
    ]);
    const works = spansOf(traceId).map(({ attributes }) => attributes['agentmesh.work']);
    expect(works.filter((work) => work !== undefined).toSorted()).toEqual(['call', 'job', 'run']);
  });

  it('of an approval is the trace of the answer, with a link to the run that asked', async () => {
    const asked = await ask('time_off_app', '3 days');
    const [question] = asked.events
      .flatMap(getFunctionCalls)
      .filter(({ name }) => name === 'adk_request_confirmation');
    const response = { confirmed: true, payload: { approvedDays: 2 } };
    const part = { functionResponse: { id: question?.id, name: question?.name, response } };
    const answered = await ask('time_off_app', { role: 'user', parts: [part] }, asked.session);
    expect(await drawn(answered.traceId, 4)).toEqual([
      'POST /run (gateway)',
      '  invoke_agent time_off_agent (agent_time_off_agent)',
      '    execute_tool request_time_off (agent_time_off_agent)',
      '    chat gemini-2.5-flash (agent_time_off_agent)',
    ]);
    const first = spanNamed(asked.traceId, 'invoke_agent time_off_agent', 'agent_time_off_agent');
    const second = spanNamed(answered.traceId, 'invoke_agent time_off_agent', 'agent_time_off_agent');
    expect(second.links).toMatchObject([{ traceId: asked.traceId, spanId: first.spanId }]);
    expect(second.attributes['gen_ai.conversation.id']).toBe(first.attributes['gen_ai.conversation.id']);
  });

  it('goes on when another process takes the run over, with a link to the lost attempt', async () => {
    hold = true;
    const before = new Set(receiver.spans);
    const running = ask('stock_app', 'GOOG?');
    const early = () =>
      receiver.spans.filter(
        (span) => !before.has(span) && span.resource['service.name'] === 'agent_stock_agent',
      );
    await until(() => early().length === 2, { what: 'the spans of the first model call and its tool' });
    const [chat] = early();
    await mesh.processes.find(({ name }) => name === 'stock_agent')?.kill();
    hold = false;
    // This replica also records what is said.
    vi.stubEnv('MESH_TRACE_CONTENT', '1');
    await mesh.start(stock);
    vi.unstubAllEnvs();
    const { traceId } = await running;
    const trace = await drawn(traceId, 5);
    // The span of the killed attempt is lost; the spans below it had been sent before.
    expect(trace.slice(-2)).toEqual([
      'chat gemini-2.5-flash (agent_stock_agent)',
      'execute_tool get_stock_price (agent_stock_agent)',
    ]);
    const request = spanNamed(traceId, 'POST /run', 'gateway');
    // The new replica may take the run over from itself: two messages of the run arrive at its start.
    const attempts = spansOf(traceId).filter(({ name }) => name === 'invoke_agent stock_agent');
    expect(attempts.map(({ parentSpanId }) => parentSpanId)).toEqual(attempts.map(() => request.spanId));
    const [taken, ...others] = attempts.filter(
      ({ attributes }) => attributes['agentmesh.outcome'] === 'completed',
    );
    expect(others).toEqual([]);
    expect(taken?.attributes['agentmesh.attempt']).toBeGreaterThan(1);
    expect(taken?.links).toMatchObject([{ traceId, spanId: chat?.parentSpanId }]);
    const last = spansOf(traceId).find(({ parentSpanId }) => parentSpanId === taken?.spanId);
    expect(last?.attributes['gen_ai.input.messages']).toContain('GOOG?');
    expect(last?.attributes['gen_ai.output.messages']).toContain('done');
    expect(JSON.stringify(early().slice(0, 2))).not.toContain('GOOG?');
  });
});
