import { type Headers, header } from './headers.ts';

const traceparentPattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Returns up to 32 random hex digits: those of a UUID, for which Node.js keeps random bytes in stock. */
function hex(digits: number): string {
  return crypto.randomUUID().replaceAll('-', '').slice(-digits);
}

/** The position of a span in its trace, as a `traceparent` names it. */
export interface TracePlace {
  /** 32 hex digits. */
  traceId: string;
  /** 16 hex digits. */
  spanId: string;
  /** 1 when the trace is recorded, 0 when it is not. */
  traceFlags: number;
}

/** Reads a `traceparent` (W3C Trace Context). Undefined for an absent or a broken one. */
export function readTraceparent(traceparent: string | undefined): TracePlace | undefined {
  const [, traceId = '', spanId = '', flags = ''] = traceparentPattern.exec(traceparent ?? '') ?? [];
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
}

/**
 * Returns the trace headers for the next message (W3C Trace Context): the place of the caller, or a new trace when
 * the caller sent no trace or a broken trace. A process that records a span for the work puts the place of this
 * span into the headers first, so that the receiver continues below a span that somebody recorded.
 */
export function nextTrace(incoming: Headers = {}): Headers {
  const traceparent = incoming[header.traceparent];
  if (traceparent === undefined || !readTraceparent(traceparent))
    return { [header.traceparent]: `00-${hex(32)}-${hex(16)}-01` };
  const next: Headers = { [header.traceparent]: traceparent };
  const state = incoming[header.tracestate];
  if (state) next[header.tracestate] = state;
  return next;
}

/** Reads the trace id in the headers, 32 hex digits, for logs. */
export function traceIdOf(headers: Headers): string | undefined {
  return traceparentPattern.exec(headers[header.traceparent] ?? '')?.[1];
}
