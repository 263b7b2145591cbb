import { MeshError } from '@agentmesh/protocol';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Authenticator } from './access/authenticator.ts';
import { countedAs } from './access/caller.ts';
import { admit } from './access/check-access.ts';
import { recordRequests } from './access/record-request.ts';
import { hostCheck, namedHost } from './addresses/allowed-hosts.ts';
import { originCheck } from './addresses/allowed-origins.ts';
import { refuseUnknown } from './addresses/unknown-address.ts';
import { limitBodies } from './answers/body-room.ts';
import { compressAnswers } from './answers/compress-answers.ts';
import { holdAnswers } from './answers/held-answers.ts';
import { HeldBytes } from './answers/held-bytes.ts';
import { largeAnswers } from './answers/large-answers.ts';
import { readRest } from './answers/read-rest.ts';
import type { GatewayConfig } from './context/config.ts';
import type { GatewayContext } from './context/context.ts';
import type { CallerLimits } from './context/limits.ts';
import type { Route } from './context/route.ts';
import { routes } from './handlers/index.ts';
import { answerClientError, answerError, answerExpectation } from './http/answer-error.ts';
import { addBrowserHeaders } from './http/browser-headers.ts';
import { assertNotEncoded, assertUtf8, readJson } from './http/read-json.ts';
import { traceRequests } from './http/request-spans.ts';
import type { ServerCertificate } from './http/tls.ts';
import { assertNoQuery } from './params/artifact-ref.ts';
import { withWebUi } from './web/routes.ts';

/** Longest time in which the headers of a request must have arrived, in ms. */
const headersTimeoutMs = 60_000;
/** Longest time of a TLS handshake, in ms. A connection without one holds up the stop of the gateway. */
const handshakeTimeoutMs = 5_000;

/** Default of the bytes of large answers that clients have not read yet. */
const defaultUnreadBytes = 50_331_648;
/** How long, and how many, large answers wait for room among the unread bytes. */
const roomFor = { waitMs: 10_000, mostOfOne: 200, mostWaiting: 2_000 };

export type ServerOptions = Pick<
  GatewayConfig,
  'bodyLimit' | 'requestTimeoutMs' | 'httpHost' | 'allowedHosts'
> & {
  /** The ways by which callers are authenticated; see `openAuthenticators`. */
  authenticators: readonly Authenticator[];
  /** The addresses of proxies that name the address of a caller; default none. */
  trustProxy?: string | undefined;
  /** The limits of callers, users and apps; default none. */
  limits?: CallerLimits | undefined;
  /** The origins of pages that may call the gateway; default none. */
  corsOrigins?: readonly string[] | undefined;
  /** Bytes of large answers that clients have not read yet; default 48 MiB. */
  unreadBytes?: number | undefined;
  /** Number of connections; default unlimited. */
  maxConnections?: number | undefined;
  /** Serves ADK's web UI: the value of `MESH_ADK_WEB`. */
  adkWeb?: string | undefined;
  /** Serves HTTPS; default HTTP. */
  certificate?: ServerCertificate | undefined;
};

/** Makes the HTTP server with all routes, not yet listening. */
export function buildServer(context: GatewayContext, options: ServerOptions): FastifyInstance {
  const { bodyLimit, requestTimeoutMs, authenticators, limits: callerLimits, certificate } = options;
  const { corsOrigins = [] } = options;
  // Node applies neither limit if the limit for the headers is longer than the limit for the request.
  const limits = {
    headersTimeout: Math.min(requestTimeoutMs, headersTimeoutMs),
    connectionsCheckingInterval: Math.min(requestTimeoutMs, 1_000),
    // The gateway refuses such a request itself: Node's refusal has no body.
    requireHostHeader: false,
  };
  const server: FastifyInstance = fastify({
    bodyLimit,
    requestTimeout: requestTimeoutMs,
    ...(certificate
      ? { https: { ...limits, ...certificate, handshakeTimeout: handshakeTimeoutMs } }
      : { http: limits }),
    // Requests in hand end; idle keep-alive connections do not hold up the stop.
    forceCloseConnections: 'idle',
    trustProxy: options.trustProxy ?? false,
    routerOptions: { maxParamLength: 16_384, ignoreTrailingSlash: true },
    frameworkErrors: (error, request, reply) => answerError(context.log, error, request, reply),
    clientErrorHandler: (error, socket) => answerClientError(context.log, error, socket),
  });
  const all = withWebUi(routes, options.adkWeb);
  server.server.on('checkExpectation', (request, response) =>
    answerExpectation(context.log, request, response),
  );
  if (options.maxConnections !== undefined) server.server.maxConnections = options.maxConnections;
  const checkHost = hostCheck(options.httpHost, options.allowedHosts);
  const isOpen = authenticators.some(({ way }) => way === 'none');
  const checkOrigin = isOpen ? originCheck(corsOrigins) : () => {};
  traceRequests(server);
  recordRequests(server, context, all);
  refuseUnknown(server, all);
  const { log } = context;
  const held = new HeldBytes({ most: options.unreadBytes ?? defaultUnreadBytes, ...roomFor });
  holdAnswers(server, { held, unreadMs: context.config.unreadMs, log });
  const large = largeAnswers({ held, nameOf: countedAs, log });
  const handlerContext = { ...context, large, limits: callerLimits };
  const uploadRoutes = new Set(
    all.filter(({ takesBytes }) => takesBytes).map(({ method, url }) => `${method} ${url}`),
  );
  const isStreamed = ({ method, routeOptions }: FastifyRequest) =>
    uploadRoutes.has(`${method} ${routeOptions.url}`);
  limitBodies(server, { bodyLimit, nameOf: countedAs, isStreamed });
  compressAnswers(server);
  readRest(server);
  addBrowserHeaders(server, { origins: corsOrigins, isHttps: certificate !== undefined });
  server.addHook('onRequest', async (request) => {
    checkHost(namedHost(request.raw));
    checkOrigin(request);
    assertNotEncoded(request.headers);
  });
  // Only JSON is read: a body of another type must not be read as JSON.
  server.removeAllContentTypeParsers();
  // An empty body counts as no body, even if the client declares JSON.
  const asBytes = { parseAs: 'buffer' } as const;
  server.addContentTypeParser<Buffer>('application/json', asBytes, ({ headers }, bytes, done) => {
    try {
      assertUtf8(headers);
      done(null, bytes.length === 0 ? undefined : readJson(bytes));
    } catch (error) {
      done(error as Error);
    }
  });
  server.setErrorHandler((error, request, reply) => answerError(context.log, error, request, reply));
  const add = (to: FastifyInstance, route: Route) =>
    to.route({
      method: route.method,
      url: route.url,
      ...(!isCompressed(route) && { compress: false }),
      onRequest: (request, reply) =>
        admit({ ways: authenticators, limits: callerLimits }, route, request, reply),
      handler: (request, reply) => {
        if (readsNoQuery(route)) assertNoQuery(request);
        return route.handle(handlerContext, request, reply);
      },
    });
  // The compression sees the routes of scopes alone: it is loaded after this function has returned.
  server.register((scope, _options, registered) => {
    for (const route of all.filter(({ takesBytes }) => !takesBytes)) add(scope, route);
    registered();
  });
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
    for (const route of all.filter(({ takesBytes }) => takesBytes)) add(uploads, route);
    registered();
  });
  return server;
}

/** Tells whether answers of a route are compressed: JSON, and the files of pages. Streams and artifacts are not. */
function isCompressed({ about: { answer }, role }: Route): boolean {
  return typeof answer !== 'string' || (role === 'public' && answer !== 'text/event-stream');
}

/**
 * Tells whether a route refuses every query. Public routes ignore them: balancers and browsers add some. A route that
 * only refuses gives its own reason.
 */
function readsNoQuery({ about: { query, answer }, role }: Route): boolean {
  return query === undefined && answer !== undefined && role !== 'public';
}
