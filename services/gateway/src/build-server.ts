import { MeshError } from '@agentmesh/protocol';
import fastify, { type FastifyInstance } from 'fastify';
import type { GatewayConfig } from './context/config.ts';
import type { GatewayContext } from './context/context.ts';
import type { Route } from './context/route.ts';
import { routes } from './handlers/index.ts';
import { hostCheck } from './http/allowed-hosts.ts';
import { answerClientError, answerError } from './http/answer-error.ts';
import type { ServerCertificate } from './http/tls.ts';

/** Longest time in which the headers of a request must have arrived, in ms. */
const headersTimeoutMs = 60_000;
/** Longest time of a TLS handshake, in ms. A connection without one holds up the stop of the gateway. */
const handshakeTimeoutMs = 5_000;

export type ServerOptions = Pick<
  GatewayConfig,
  'bodyLimit' | 'requestTimeoutMs' | 'httpHost' | 'allowedHosts'
> & {
  /** Serves HTTPS; default HTTP. */
  certificate?: ServerCertificate | undefined;
};

/** Makes the HTTP server with all routes, not yet listening. */
export function buildServer(
  context: GatewayContext,
  { bodyLimit, requestTimeoutMs, httpHost, allowedHosts, certificate }: ServerOptions,
): FastifyInstance {
  // Node applies neither limit if the limit for the headers is longer than the limit for the request.
  const limits = {
    headersTimeout: Math.min(requestTimeoutMs, headersTimeoutMs),
    connectionsCheckingInterval: Math.min(requestTimeoutMs, 1_000),
  };
  const server: FastifyInstance = fastify({
    bodyLimit,
    requestTimeout: requestTimeoutMs,
    ...(certificate
      ? { https: { ...limits, ...certificate, handshakeTimeout: handshakeTimeoutMs } }
      : { http: limits }),
    // Requests in hand end; idle keep-alive connections do not hold up the stop.
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 16_384 },
    frameworkErrors: (error, request, reply) => answerError(context.log, error, request, reply),
    clientErrorHandler: (error, socket) => answerClientError(context.log, error, socket),
  });
  const checkHost = hostCheck(httpHost, allowedHosts);
  server.addHook('onRequest', async ({ headers }) => checkHost(headers.host));
  // Only JSON is read: a body of another type must not be read as JSON.
  server.removeAllContentTypeParsers();
  // An empty body counts as no body, even if the client declares JSON.
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => {
    try {
      done(null, text === '' ? undefined : JSON.parse(String(text)));
    } catch (cause) {
      done(new MeshError('invalid_argument', `the body is not JSON: ${(cause as Error).message}`, { cause }));
    }
  });
  server.setErrorHandler((error, request, reply) => answerError(context.log, error, request, reply));
  server.setNotFoundHandler((request) => {
    throw new MeshError(
      'not_found',
      `there is no ${request.method} ${request.url.split('?')[0]}; GET / lists what there is`,
    );
  });
  const add = (to: FastifyInstance, { method, url, handle }: Route) =>
    to.route({ method, url, handler: (request, reply) => handle(context, request, reply) });
  for (const route of routes.filter(({ takesBytes }) => !takesBytes)) add(server, route);
  // Uploads are registered in a scope of their own: only their routes take a body of any type.
  server.register((uploads, _options, registered) => {
    uploads.removeAllContentTypeParsers();
    uploads.setErrorHandler((error, request, reply) => {
      const isType = (error as { code?: unknown }).code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE';
      const reported = isType
        ? new MeshError('invalid_argument', 'the content type is not a MIME type; give one such as image/png')
        : error;
      answerError(context.log, reported, request, reply);
    });
    uploads.addContentTypeParser('*', (_request, bytes, done) => done(null, bytes));
    for (const route of routes.filter(({ takesBytes }) => takesBytes)) add(uploads, route);
    registered();
  });
  return server;
}
