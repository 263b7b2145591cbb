import {
  type Attributes,
  type Context,
  context,
  createTraceState,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { MeshError } from '../errors/mesh-error.ts';
import { type Headers, header } from './headers.ts';
import { redactor, redactText } from './redact.ts';
import { readTraceparent } from './trace.ts';

/** The kinds of spans: inside a process, of a requester, of a receiver of a request, of a receiver of a message. */
const kinds = {
  internal: SpanKind.INTERNAL,
  client: SpanKind.CLIENT,
  server: SpanKind.SERVER,
  consumer: SpanKind.CONSUMER,
};

export interface SpanOptions {
  kind: keyof typeof kinds;
  attributes: Attributes;
}

/** Longest text of a recorded prompt, answer, argument or result, in characters. */
const maxTraceContent = 8_192;

/** The names of OpenTelemetry's semantic conventions for the error of a span. */
const errorType = 'error.type';

const content: { isRecorded: boolean; redact?: RegExp | undefined } = { isRecorded: false };

/**
 * Chooses whether spans of this process hold prompts, answers, arguments and results; false at the start.
 *
 * @param redact the parts of texts that spans never hold, beside those of {@link redactText}; a global expression
 */
export function recordTraceContent(isRecorded: boolean, redact?: RegExp): void {
  content.isRecorded = isRecorded;
  content.redact = redact;
}

/** Returns the tracer of the process; undefined while no program has registered a provider of spans. */
function tracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  return provider instanceof ProxyTracerProvider
    ? provider.getDelegateTracer('agentmesh')
    : provider.getTracer('agentmesh');
}

/**
 * Begins a span below the span that the headers name. Without a trace in the headers it begins below the active span
 * of the process, or a new trace; what was received from elsewhere always begins a new trace. Undefined while nobody
 * records spans.
 */
export function startSpan(name: string, headers: Headers, options: () => SpanOptions): Span | undefined {
  const spans = tracer();
  if (!spans) return undefined;
  const { kind, attributes } = options();
  const isReceived = kind === 'server' || kind === 'consumer';
  return spans.startSpan(name, { kind: kinds[kind], attributes }, parentOf(headers, isReceived));
}

/**
 * Begins work that may begin spans by OpenTelemetry's API alone: the span that the headers name is the active one for it.
 * For work that is a promise: a generator runs in the context of its reader.
 */
export function beginUnder<T>(headers: Headers, work: () => T): T {
  return tracer() ? context.with(parentOf(headers), work) : work();
}

function parentOf(headers: Headers, isReceived = false): Context {
  const place = readTraceparent(headers[header.traceparent]);
  if (!place) return isReceived ? ROOT_CONTEXT : context.active();
  const state = headers[header.tracestate];
  return trace.setSpanContext(ROOT_CONTEXT, {
    ...place,
    isRemote: true,
    ...(state !== undefined && { traceState: createTraceState(state) }),
  });
}

/** Returns the headers of messages that are sent on behalf of a span. Without a span they stay as they are. */
export function underSpan(headers: Headers, span: Span | undefined): Headers {
  if (!span) return headers;
  const { [header.tracestate]: _state, ...others } = headers;
  const state = span.spanContext().traceState?.serialize();
  return {
    ...others,
    [header.traceparent]: traceparentOf(span.spanContext()),
    ...(state && { [header.tracestate]: state }),
  };
}

/** Returns the `traceparent` of a span (W3C Trace Context). */
export function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

/** Links a span to an earlier one, by its `traceparent`. A broken `traceparent` has no link. */
export function linkSpan(span: Span | undefined, traceparent: unknown): void {
  if (!span || typeof traceparent !== 'string') return;
  const place = readTraceparent(traceparent);
  if (place && place.spanId !== span.spanContext().spanId) span.addLink({ context: place });
}

/** Sets the status of a span to an error, with the code of the error as its type. */
export function failSpan(span: Span | undefined, thrown: unknown): void {
  if (!span) return;
  const { code, message } = MeshError.from(thrown);
  setFailed(span, code, thrown instanceof Error ? thrown.message : message);
}

/** Sets the status of a span to an error of this type. Its text is redacted, as contents are. */
export function setFailed(span: Span, type: string, message: string = type): void {
  span.setAttribute(errorType, type);
  const text = redactText(message, content.redact).slice(0, maxTraceContent);
  span.setStatus({ code: SpanStatusCode.ERROR, message: text });
}

/**
 * Records a value as JSON text on a span when this process records contents: redacted, and then cut off at
 * {@link maxTraceContent}, so that no secret is cut in two.
 */
export function setContent(span: Span | undefined, name: string, value: () => unknown): void {
  if (!span || !content.isRecorded) return;
  const text = jsonOf(value());
  if (text === undefined) return;
  span.setAttribute(name, text.length > maxTraceContent ? `${text.slice(0, maxTraceContent)}…` : text);
}

/** Returns the JSON text of a value; undefined for a value without one, which must not end the work. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, redactor(content.redact));
  } catch {
    return undefined;
  }
}
