import { randomUUID } from 'node:crypto';
import { type AuditRecord, audit } from '@agentmesh/mesh';
import type { SessionRef } from '@agentmesh/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayContext } from '../context/context.ts';
import type { Route } from '../context/route.ts';
import { idsOf, reasonOf } from '../http/request-ids.ts';
import { countRequest } from '../http/request-metrics.ts';
import { anyCaller, callerOf, knownCallerOf } from './caller.ts';
import { RefusalCounter } from './refusal-counter.ts';

type Mesh = GatewayContext['mesh'];

/** The statuses of refusals that are recorded: unauthenticated, forbidden, too many requests. */
const refusals = [401, 403, 429];
/** Longest path in a record, in characters. */
const mostPath = 1_024;
/** The routes that probes of health ask all the time; their lines have the level debug. */
const probes = ['/health', '/version'];

const counters = new WeakMap<Mesh, RefusalCounter>();

/**
 * Records every request, also one that is refused before its route is looked at, as for its host. Must come before the
 * hooks that refuse.
 *
 * @param acts the routes, which name the kinds of acts that are recorded
 */
export function recordRequests(
  server: FastifyInstance,
  context: GatewayContext,
  acts: readonly Pick<Route, 'method' | 'url' | 'audit'>[],
): void {
  const actions = new Map(acts.map(({ method, url, audit: action }) => [`${method} ${url}`, action]));
  server.addHook('onRequest', async (request, reply) => {
    const { method, routeOptions } = request;
    const action = actions.get(`${method === 'HEAD' ? 'GET' : method} ${routeOptions.url}`);
    recordRequest(context, action, request, reply);
  });
}

/**
 * Counts a request and writes a line of the access log when it is over, and an audit record for an act that the route
 * names, and for a refusal. Neither holds a token, a query or a body.
 */
function recordRequest(
  { mesh, log }: GatewayContext,
  action: Route['audit'],
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { raw } = reply;
  // The time of Fastify's reply is 0 without a logger of Fastify.
  const beganAt = performance.now();
  raw.once('close', () => {
    const { method, routeOptions } = request;
    const status = raw.statusCode;
    const ms = performance.now() - beganAt;
    countRequest({ method, route: routeOptions.url, status, ms });
    const level = probes.includes(routeOptions.url ?? '') ? 'debug' : 'info';
    const { traceId, invocationId } = idsOf(request);
    const { caller, address } = senderOf(request);
    log[level](
      {
        ...{ method, route: routeOptions.url, status, ms: Math.round(ms) },
        ...(!raw.writableFinished && { isAborted: true }),
        ...{ caller, address, traceId, ...(invocationId !== undefined && { invocationId }) },
      },
      'request',
    );
    const reason = reasonOf(request);
    if (refusals.includes(status) && isFirst(mesh, request, { status, reason }))
      record(mesh, request, {
        ...{ decision: 'refused', action: action ?? 'request', status },
        ...(reason !== undefined && { reason }),
      });
    if (action !== undefined && raw.statusCode < 400)
      record(mesh, request, { decision: 'accepted', action, status: raw.statusCode });
  });
}

/** Records that a run of an authenticated caller was accepted. */
export function recordRun(
  mesh: Mesh,
  request: FastifyRequest,
  { invocationId, ...session }: SessionRef & { invocationId: string },
): void {
  if (callerOf(request).via === anyCaller.via) return;
  record(mesh, request, { decision: 'accepted', action: 'run', session, invocationId });
}

/** Records that events of a session were imported. */
export function recordImport(mesh: Mesh, request: FastifyRequest, session: SessionRef): void {
  record(mesh, request, { decision: 'accepted', action: 'import', session });
}

function record(mesh: Mesh, request: FastifyRequest, about: AuditRecord): void {
  const path = request.url.split('?')[0]?.slice(0, mostPath);
  void audit(mesh, `request/${randomUUID()}`, {
    ...about,
    ...senderOf(request),
    request: `${request.method} ${path}`,
  });
}

/** Returns who sent a request, and from where. */
function senderOf(request: FastifyRequest): Pick<AuditRecord, 'caller' | 'address'> {
  const known = knownCallerOf(request);
  if (!known) return { address: request.ip };
  const { via, user, key } = known;
  return {
    caller: { via, ...(user !== undefined && { user }), ...(key !== undefined && { key }) },
    address: request.ip,
  };
}

/** Tells whether a refusal is the first of its kind for this caller in a minute. */
function isFirst(
  mesh: Mesh,
  request: FastifyRequest,
  { status, reason = '' }: { status: number; reason: string | undefined },
): boolean {
  const counter = counters.get(mesh) ?? new RefusalCounter();
  counters.set(mesh, counter);
  const { caller, address } = senderOf(request);
  // One limit says other times at each refusal, and a client may send another host with each request.
  const kind = reason.replaceAll(/"[^"]*"|\d+/g, '0');
  return counter.isFirst(JSON.stringify([caller ?? address, status, kind, request.routeOptions.url]));
}
