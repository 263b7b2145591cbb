import { type Headers, header } from './headers.ts';

const traceparentPattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Returns random bytes as lower-case hex. */
function hex(bytes: number): string {
  return crypto
    .getRandomValues(new Uint8Array(bytes))
    .reduce((s, b) => s + b.toString(16).padStart(2, '0'), '');
}

/**
 * Returns the trace headers for the next message (W3C Trace Context): the caller's trace with a new parent
 * id, or a new trace when the caller sent no trace or a broken trace.
 */
export function nextTrace(incoming: Headers = {}): Headers {
  const [, traceId, , flags] = traceparentPattern.exec(incoming[header.traceparent] ?? '') ?? [];
  if (!traceId || /^0+$/.test(traceId)) return { [header.traceparent]: `00-${hex(16)}-${hex(8)}-01` };
  const next: Headers = { [header.traceparent]: `00-${traceId}-${hex(8)}-${flags}` };
  const state = incoming[header.tracestate];
  if (state) next[header.tracestate] = state;
  return next;
}

/** Reads the trace id in the headers, 32 hex digits, for logs. */
export function traceIdOf(headers: Headers): string | undefined {
  return traceparentPattern.exec(headers[header.traceparent] ?? '')?.[1];
}
