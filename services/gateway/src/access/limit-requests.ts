import type { Mesh } from '@agentmesh/mesh';
import { MeshError } from '@agentmesh/protocol';
import type { Config, Logger } from '@agentmesh/service';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { limitConfig } from '../context/limit-config.ts';
import type { Route } from '../context/route.ts';
import { countedAs } from './caller.ts';

const windowMs = 60_000;
/** Time for which a slot of a gateway that died stays taken, and time between two renewals, in ms. */
const leaseMs = 30_000;
const renewMs = 10_000;
/** Time after which a caller whose slots are all taken may try again, in ms: nobody knows when one is free. */
const slotWaitMs = 1_000;

export type LimitSettings = Pick<
  Config<typeof limitConfig>,
  'requestsPerMinute' | 'streamsPerCaller' | 'maxStreams'
>;
type Limits = NonNullable<Mesh['requestLimits']>;

/** Limits what callers may ask for. */
export interface CallerLimits {
  /** Counts a request. @throws MeshError `resource_exhausted`, with the time to wait */
  countRequest(request: FastifyRequest): Promise<void>;
  /** Takes a slot for a run or a stream until its answer is over. @throws as `countRequest` */
  admitLoad(load: Route['load'], request: FastifyRequest, reply: FastifyReply): Promise<void>;
}

/**
 * Returns the limits of the settings. All gateways count in Redis, so a caller has the same limit at any number of
 * gateways.
 *
 * @throws MeshError `failed_precondition` for limits in a mesh without Redis
 */
export function openLimits(
  { requestsPerMinute, streamsPerCaller, maxStreams }: LimitSettings,
  { requestLimits, log }: { requestLimits?: Limits | undefined; log: Pick<Logger, 'warn'> },
): CallerLimits {
  const isCounted = (requestsPerMinute ?? streamsPerCaller) !== undefined;
  if (isCounted && !requestLimits)
    throw new MeshError(
      'failed_precondition',
      'this mesh has no Redis, which counts requests; remove the limits',
    );
  let open = 0;

  async function takeSlot(request: FastifyRequest, { raw }: FastifyReply): Promise<boolean> {
    if (streamsPerCaller === undefined) return true;
    const slot = await requestLimits?.take('streams', countedAs(request), {
      most: streamsPerCaller,
      leaseMs,
    });
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
    async countRequest(request) {
      if (requestsPerMinute === undefined) return;
      const limit = { most: requestsPerMinute, windowMs };
      const ms = (await requestLimits?.use('requests', countedAs(request), limit)) ?? 0;
      if (ms > 0) throw refused(ms, `${requestsPerMinute} requests in a minute are the most for one caller`);
    },

    async admitLoad(load, request, reply) {
      if (load === undefined) return;
      if (open >= maxStreams)
        throw refused(
          slotWaitMs,
          `this gateway has ${maxStreams} open streams, the most (MESH_HTTP_STREAMS)`,
        );
      if (reply.raw.destroyed) return;
      open += 1;
      reply.raw.once('close', () => {
        open -= 1;
      });
      if (await takeSlot(request, reply)) return;
      throw refused(slotWaitMs, `${streamsPerCaller} open streams are the most for one caller`);
    },
  };
}

function refused(ms: number, message: string): MeshError {
  return new MeshError('resource_exhausted', `${message}; try again in ${Math.ceil(ms / 1_000)} s`, {
    details: { retryAfterMs: ms },
  });
}
