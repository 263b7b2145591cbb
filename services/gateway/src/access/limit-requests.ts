import type { Mesh } from '@agentmesh/mesh';
import { MeshError } from '@agentmesh/protocol';
import type { Config, Logger } from '@agentmesh/service';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { limitConfig } from '../context/limit-config.ts';
import type { Route } from '../context/route.ts';
import { knownCallerOf } from './caller.ts';

const windowMs = 60_000;
/** Time for which a slot of a gateway that died stays taken, and time between two renewals, in ms. */
const leaseMs = 30_000;
const renewMs = 10_000;
/** Time after which a caller whose slots are all taken may try again, in ms: nobody knows when one is free. */
const slotWaitMs = 1_000;

export type LimitSettings = Pick<
  Config<typeof limitConfig>,
  'requestsPerMinute' | 'runsPerMinute' | 'streamsPerCaller' | 'maxStreams'
>;
type Limits = NonNullable<Mesh['requestLimits']>;

/** Limits what callers may ask for. */
export interface CallerLimits {
  /** Counts a request. @throws MeshError `resource_exhausted`, with the time to wait */
  countRequest(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Counts a run, and takes a slot for a run or a stream until its answer is over. @throws as `countRequest` */
  admitLoad(load: Route['load'], request: FastifyRequest, reply: FastifyReply): Promise<void>;
}

/**
 * Returns the limits of the settings. All gateways count in Redis, so a caller has the same limit at any number of
 * gateways.
 *
 * @throws MeshError `failed_precondition` for limits in a mesh without Redis
 */
export function openLimits(
  { requestsPerMinute, runsPerMinute, streamsPerCaller, maxStreams }: LimitSettings,
  { requestLimits, log }: { requestLimits?: Limits | undefined; log: Pick<Logger, 'warn'> },
): CallerLimits {
  const isCounted = (requestsPerMinute ?? runsPerMinute ?? streamsPerCaller) !== undefined;
  if (isCounted && !requestLimits)
    throw new MeshError(
      'failed_precondition',
      'this mesh has no Redis, which counts requests; remove the limits',
    );
  let open = 0;

  async function use(kind: string, most: number | undefined, request: FastifyRequest, reply: FastifyReply) {
    if (most === undefined) return;
    const ms = (await requestLimits?.use(kind, whoIs(request), { most, windowMs })) ?? 0;
    if (ms > 0) throw refused(reply, ms, `${most} ${kind} in a minute are the most for one caller`);
  }

  async function takeSlot(request: FastifyRequest, { raw }: FastifyReply): Promise<boolean> {
    if (streamsPerCaller === undefined) return true;
    const slot = await requestLimits?.take('streams', whoIs(request), { most: streamsPerCaller, leaseMs });
    if (!slot) return false;
    const onFailure = (error: unknown) =>
      log.warn({ err: error }, 'could not renew or free the slot of a stream');
    const renewals = setInterval(() => slot.renew().catch(onFailure), renewMs).unref();
    const free = () => {
      clearInterval(renewals);
      slot[Symbol.asyncDispose]().catch(onFailure);
    };
    if (raw.destroyed) free();
    else raw.once('close', free);
    return true;
  }

  return {
    countRequest: (request, reply) => use('requests', requestsPerMinute, request, reply),

    async admitLoad(load, request, reply) {
      if (load === undefined) return;
      if (open >= maxStreams)
        throw refused(
          reply,
          slotWaitMs,
          `this gateway has ${maxStreams} open streams, the most (MESH_HTTP_STREAMS)`,
        );
      if (reply.raw.destroyed) return;
      open += 1;
      reply.raw.once('close', () => {
        open -= 1;
      });
      if (load === 'run') await use('runs', runsPerMinute, request, reply);
      if (await takeSlot(request, reply)) return;
      throw refused(reply, slotWaitMs, `${streamsPerCaller} open streams are the most for one caller`);
    },
  };
}

/** Returns the name under which a caller is counted. */
function whoIs(request: FastifyRequest): string {
  const { via, user, key } = knownCallerOf(request) ?? {};
  if (key !== undefined) return `key ${key}`;
  return user === undefined ? `address ${request.ip}` : `${via} ${user}`;
}

function refused(reply: FastifyReply, ms: number, message: string): MeshError {
  const seconds = Math.ceil(ms / 1_000);
  reply.header('retry-after', seconds);
  return new MeshError('resource_exhausted', `${message}; try again in ${seconds} s`, {
    details: { retryAfterMs: ms },
  });
}
