import { type Headers, isToken, nextTrace, traceIdOf } from '@agentmesh/protocol';
import type { FastifyRequest } from 'fastify';

/**
 * The ids by which a request is found in its error, in the gateway's log, and in the logs of the services
 * that work on it.
 */
export interface RequestIds {
  readonly traceId: string;
  /** The invocation of the request, as soon as it is known. */
  invocationId?: string;
}

interface TracedRequest extends RequestIds {
  /** The caller's trace, or a new trace (W3C Trace Context): the headers of a run that the request starts. */
  readonly trace: Headers;
}

const traced = new WeakMap<FastifyRequest, TracedRequest>();

/** Returns the ids of a request, the same at every call. */
export function idsOf(request: FastifyRequest): TracedRequest {
  const cached = traced.get(request);
  if (cached) return cached;
  const ids = newIds(request.headers);
  traced.set(request, ids);
  return ids;
}

/** Notes the invocation of a request. An id that no invocation can have is not repeated in errors and logs. */
export function noteInvocation(request: FastifyRequest, invocationId: string): void {
  if (isToken(invocationId)) idsOf(request).invocationId = invocationId;
}

/** Makes the ids of a request: the ids of the caller's trace, if the caller sent one. */
export function newIds(headers: FastifyRequest['headers']): TracedRequest {
  return idsIn(nextTrace(incomingTrace(headers)));
}

/** Returns the trace headers of a request as its client sent them; empty without a trace. */
export function incomingTrace({ traceparent, tracestate }: FastifyRequest['headers']): Headers {
  return {
    ...(typeof traceparent === 'string' && { traceparent }),
    ...(typeof tracestate === 'string' && { tracestate }),
  };
}

/** Puts a request under the span that is recorded for it; must come before the first use of its ids. */
export function setTrace(request: FastifyRequest, trace: Headers): void {
  traced.set(request, idsIn(trace));
}

function idsIn(trace: Headers): TracedRequest {
  return { trace, traceId: traceIdOf(trace) ?? '' };
}

/** The longest reason in a record, in characters. */
const mostCharacters = 500;

const reasons = new WeakMap<FastifyRequest, string>();

/** Notes the text with which a request was refused, for its record. */
export function noteReason(request: FastifyRequest, reason: string): void {
  reasons.set(request, reason.slice(0, mostCharacters));
}

/** Returns the text with which a request was refused; undefined for an answer without an error. */
export function reasonOf(request: FastifyRequest): string | undefined {
  return reasons.get(request);
}
