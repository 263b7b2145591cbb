import { createHash } from 'node:crypto';
import { getFunctionCalls, getFunctionResponses } from '@agentmesh/agent';
import { type Event, readTraceparent, type SessionRef, traceKey } from '@agentmesh/protocol';

/** A span in the form of ADK's debug routes. Times are in ns since 1970. */
export interface Span {
  name: string;
  span_id: string;
  trace_id: string;
  parent_span_id: string | null;
  start_time: number;
  end_time: number;
  /** Attributes of OpenTelemetry's conventions for GenAI, and those of ADK. */
  attributes: Record<string, unknown>;
}

/** The text in the place of the prompt. */
const noPrompt = {
  not_recorded: 'the log of a session holds answers of models, not the prompts',
};

/**
 * Makes spans from the log of a session: a span for each invocation, in it a span for each agent, in it the
 * model calls and tool calls. The log holds the ends of steps. The begin of a step is the event before it, so
 * its span contains the time in queues. Prompts are not in the log. Where services record traces, the spans have the id
 * of the recorded trace, and calls name the recorded span in which they were made.
 */
export function spansOf(session: SessionRef, events: readonly Event[]): Span[] {
  const invocations = Map.groupBy(events, ({ invocationId }) => invocationId);
  return [...invocations].flatMap(([id, each]) => spansOfInvocation(session, id, each));
}

function spansOfInvocation(session: SessionRef, invocationId: string, events: readonly Event[]): Span[] {
  const [first] = events;
  if (!first) return [];
  const recorded = events.map(recordedSpan).find((place) => place !== undefined);
  const traceId = recorded?.traceId ?? hexId(`${session.sessionId}/${invocationId}`, 32);
  const common = {
    'gen_ai.conversation.id': session.sessionId,
    'gcp.vertex.agent.session_id': session.sessionId,
    'gcp.vertex.agent.invocation_id': invocationId,
  };
  const span = (
    key: string,
    parent: string | null,
    rest: Pick<Span, 'name' | 'attributes'> & Times,
  ): Span => ({
    name: rest.name,
    span_id: hexId(`${invocationId}/${key}`, 16),
    trace_id: traceId,
    parent_span_id: parent,
    start_time: rest.from * 1e6,
    end_time: Math.max(rest.from, rest.to) * 1e6,
    attributes: { ...common, ...rest.attributes },
  });
  const last = events.at(-1) ?? first;
  const root = span('invocation', null, {
    ...{ name: 'invocation', from: first.timestamp, to: last.timestamp },
    attributes: {},
  });
  const steps = events.map((event, at) => ({ event, from: (events[at - 1] ?? event).timestamp }));
  const ofAgents = steps.filter(({ event: { author } }) => author !== undefined && author !== 'user');
  const calls = callTimes(events);
  const agents = Map.groupBy(ofAgents, ({ event: { author, branch = '' } }) => `${branch} ${author}`);
  const below = [...agents].flatMap(([key, work]) => {
    const author = work[0]?.event.author ?? '';
    const agent = span(`agent ${key}`, root.span_id, {
      name: `invoke_agent ${author}`,
      from: work[0]?.from ?? first.timestamp,
      to: work.at(-1)?.event.timestamp ?? last.timestamp,
      attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': author },
    });
    const inner = work.flatMap(({ event, from }) => {
      const place = recordedSpan(event)?.traceparent;
      const made = [
        ...modelCalls(event, from).map((call) => span(`model ${event.id}`, agent.span_id, call)),
        ...toolCalls(event, calls).map((call, at) => span(`tool ${event.id} ${at}`, agent.span_id, call)),
      ];
      for (const { attributes } of made) if (place !== undefined) attributes[traceKey] = place;
      return made;
    });
    return [agent, ...inner];
  });
  return [root, ...below];
}

/** Returns the span of OpenTelemetry in which an event was made, if its process recorded traces. */
function recordedSpan({ customMetadata }: Event): { traceId: string; traceparent: string } | undefined {
  const traceparent = customMetadata?.[traceKey];
  if (typeof traceparent !== 'string') return undefined;
  const place = readTraceparent(traceparent);
  return place && { traceId: place.traceId, traceparent };
}

/** The begin and the end of a step, in epoch ms. */
interface Times {
  from: number;
  to: number;
}

/** Returns the model call that an event ends, if a model made the event. */
function modelCalls(event: Event, from: number) {
  const { usageMetadata: usage, modelVersion, finishReason, content, timestamp: to } = event;
  if (!usage && modelVersion === undefined && finishReason === undefined) return [];
  const attributes = {
    'gen_ai.operation.name': 'generate_content',
    'gen_ai.agent.name': event.author,
    'gcp.vertex.agent.event_id': event.id,
    'gcp.vertex.agent.llm_request': JSON.stringify(noPrompt),
    'gcp.vertex.agent.llm_response': JSON.stringify({ content, finishReason, usageMetadata: usage }),
    ...(modelVersion !== undefined && { 'gen_ai.request.model': modelVersion }),
    ...(finishReason !== undefined && { 'gen_ai.response.finish_reasons': [finishReason.toLowerCase()] }),
    ...(usage?.promptTokenCount !== undefined && { 'gen_ai.usage.input_tokens': usage.promptTokenCount }),
    ...(usage?.candidatesTokenCount !== undefined && {
      'gen_ai.usage.output_tokens': usage.candidatesTokenCount,
    }),
  };
  return [{ name: 'call_llm', from, to, attributes }];
}

/** Returns the tool calls that an event answers. */
function toolCalls(event: Event, calls: Map<string, { at: number; args: unknown }>) {
  return getFunctionResponses(event).map(({ id = '', name = '', response }) => {
    const call = calls.get(id);
    const attributes = {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.agent.name': event.author,
      'gen_ai.tool.name': name,
      'gen_ai.tool.call.id': id,
      'gcp.vertex.agent.event_id': event.id,
      'gcp.vertex.agent.tool_call_args': JSON.stringify(call?.args ?? {}),
      'gcp.vertex.agent.tool_response': JSON.stringify(response ?? {}),
    };
    return {
      name: `execute_tool ${name}`,
      from: call?.at ?? event.timestamp,
      to: event.timestamp,
      attributes,
    };
  });
}

/** Returns the times and arguments of the calls in the events, by call id. */
function callTimes(events: readonly Event[]): Map<string, { at: number; args: unknown }> {
  return new Map(
    events.flatMap((event) =>
      getFunctionCalls(event).map(({ id = '', args }) => [id, { at: event.timestamp, args }] as const),
    ),
  );
}

function hexId(text: string, length: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length);
}
