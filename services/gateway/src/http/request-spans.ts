import { type Headers, setFailed, startSpan, underSpan } from '@agentmesh/protocol';
import type { FastifyInstance } from 'fastify';
import { incomingTrace, setTrace } from './request-ids.ts';

/** The routes that probes of health ask all the time: they have no spans. */
const probes = ['/health', '/version'];

/**
 * Records a span for each request, from its headers to the end of its answer, by OpenTelemetry's conventions for
 * HTTP. The runs that the request starts are below it. The address is left out, because it may name a user. Does nothing
 * while nobody records spans.
 */
export function traceRequests(server: FastifyInstance): void {
  server.addHook('onRequest', async (request, reply) => {
    const { method, routeOptions, headers } = request;
    const route = routeOptions.url;
    if (route !== undefined && probes.includes(route)) return;
    const incoming: Headers = incomingTrace(headers);
    const span = startSpan(route === undefined ? method : `${method} ${route}`, incoming, () => ({
      kind: 'server',
      attributes: {
        'http.request.method': method,
        'url.scheme': request.protocol,
        ...(route !== undefined && { 'http.route': route }),
      },
    }));
    if (!span) return;
    setTrace(request, underSpan(incoming, span));
    reply.raw.once('close', () => {
      const { statusCode } = reply.raw;
      span.setAttribute('http.response.status_code', statusCode);
      if (statusCode >= 500) setFailed(span, String(statusCode));
      span.end();
    });
  });
}
