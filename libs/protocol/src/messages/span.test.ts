import { trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { linkSpan, recordTraceContent, setContent, setFailed, startSpan, underSpan } from './span.ts';
import { nextTrace, traceIdOf } from './trace.ts';

const traceId = 'ab'.repeat(16);
const spanId = 'cd'.repeat(8);
const headers = { traceparent: `00-${traceId}-${spanId}-01`, tracestate: 'vendor=1', other: 'x' };
const options = () => ({ kind: 'internal' as const, attributes: { a: 1 } });

describe('the trace headers of the next message', () => {
  it('name the place of the caller', () => {
    const { traceparent, tracestate } = headers;
    expect(nextTrace(headers)).toEqual({ traceparent, tracestate });
  });

  it.each([undefined, 'broken', `00-${'0'.repeat(32)}-${spanId}-01`, `00-${traceId}-${'0'.repeat(16)}-01`])(
    'begin a new trace after %s',
    (traceparent) => {
      const next = nextTrace({ ...(traceparent !== undefined && { traceparent }), tracestate: 'vendor=1' });
      expect(next).toEqual({ traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/) });
      expect(traceIdOf(next)).not.toBe(traceId);
    },
  );
});

describe('a span while nobody records spans', () => {
  it('does not exist, costs no attributes, and leaves headers as they are', () => {
    const span = startSpan('work', headers, () => expect.unreachable('nobody needs the attributes'));
    expect(span).toBeUndefined();
    expect(underSpan(headers, span)).toBe(headers);
  });
});

describe('a recorded span', () => {
  const exporter = new InMemorySpanExporter();
  beforeEach(() => {
    trace.setGlobalTracerProvider(
      new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
    );
  });
  afterEach(() => {
    trace.disable();
    exporter.reset();
    recordTraceContent(false);
  });

  it('is below the span of the headers, and becomes the parent of what is sent for it', () => {
    const span = startSpan('work', headers, options);
    span?.end();
    const [recorded] = exporter.getFinishedSpans();
    expect(recorded).toMatchObject({ name: 'work', attributes: { a: 1 }, parentSpanContext: { spanId } });
    const own = recorded?.spanContext();
    expect(own?.traceId).toBe(traceId);
    expect(underSpan(headers, span)).toEqual({
      traceparent: `00-${traceId}-${own?.spanId}-01`,
      tracestate: 'vendor=1',
      other: 'x',
    });
  });

  it('begins a trace of its own without a place in the headers', () => {
    startSpan('work', { traceparent: 'broken' }, options)?.end();
    expect(exporter.getFinishedSpans()[0]?.parentSpanContext).toBeUndefined();
  });

  it('is not recorded in a trace that its caller does not record', () => {
    const span = startSpan('work', { traceparent: `00-${traceId}-${spanId}-00` }, options);
    span?.end();
    expect(exporter.getFinishedSpans()).toEqual([]);
    expect(underSpan({}, span).traceparent).toMatch(/-00$/);
  });

  it('holds contents only when they are asked for, and cuts them off', () => {
    const record = () => {
      const span = startSpan('work', headers, options);
      setContent(span, 'said', () => 'x'.repeat(10_000));
      setContent(span, 'nothing', () => undefined);
      setContent(span, 'no JSON', () => 1n);
      span?.end();
      return exporter.getFinishedSpans().at(-1)?.attributes;
    };
    expect(record()).toEqual({ a: 1 });
    recordTraceContent(true);
    expect(record()).toEqual({ a: 1, said: `"${'x'.repeat(8_191)}…` });
  });

  it('holds no secrets, in contents and in the text of an error', () => {
    recordTraceContent(true, /K-\d+/gu);
    const span = startSpan('work', headers, options);
    // The secret lies across the place at which the text is cut off.
    const far = `${'x '.repeat(4_080)} sk-${'1'.repeat(100)}`;
    setContent(span, 'args', () => ({ password: 'hunter2', of: 'K-77' }));
    setContent(span, 'said', () => far);
    if (span) setFailed(span, 'internal', 'no contract K-77 for ann@example.com');
    span?.end();
    const [recorded] = exporter.getFinishedSpans();
    expect(recorded?.attributes).toMatchObject({
      args: '{"password":"[redacted]","of":"[redacted]"}',
      said: expect.stringMatching(/x {2}\[redacted\]"$/),
    });
    expect(recorded?.status.message).toBe('no contract [redacted] for [redacted]');
  });

  it('links to an earlier span, and shows an error with its type', () => {
    const span = startSpan('work', headers, options);
    linkSpan(span, headers.traceparent);
    linkSpan(span, 'broken');
    linkSpan(span, underSpan({}, span).traceparent);
    if (span) setFailed(span, 'aborted', 'another writer was faster');
    span?.end();
    const [recorded] = exporter.getFinishedSpans();
    expect(recorded?.links.map(({ context }) => context.spanId)).toEqual([spanId]);
    expect(recorded?.status).toEqual({ code: 2, message: 'another writer was faster' });
    expect(recorded?.attributes['error.type']).toBe('aborted');
  });
});
