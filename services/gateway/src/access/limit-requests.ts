import type { Mesh } from '@agentmesh/mesh';
import { MeshError } from '@agentmesh/protocol';
import type { Config, Logger } from '@agentmesh/service';
import type { FastifyReply } from 'fastify';
import type { limitConfig } from '../context/limit-config.ts';
import type { CallerLimits } from '../context/limits.ts';
import { countedAs } from './caller.ts';

const windowMs = 60_000;
/** Time for which a slot of a gateway that died stays taken, and time between two renewals, in ms. */
const leaseMs = 30_000;
const renewMs = 10_000;
/** Time after which somebody whose slots are all taken may try again, in ms: nobody knows when one is free. */
const slotWaitMs = 1_000;

/** The settings whose limits all gateways count together. */
const countedSettings = [
  'requestsPerMinute',
  'userRequestsPerMinute',
  'appRequestsPerMinute',
  'streamsPerCaller',
  'streamsPerUser',
  'streamsPerApp',
] as const;

export type LimitSettings = Pick<Config<typeof limitConfig>, (typeof countedSettings)[number] | 'maxStreams'>;
type Limits = NonNullable<Mesh['requestLimits']>;

/** The name under which requests are counted, and the greatest number; undefined: not limited. */
interface Counted {
  scope: 'caller' | 'user' | 'app';
  name: string;
  most: number | undefined;
}

/**
 * Returns the limits of the settings. All gateways count in Redis, so a caller has the same limit at any number of
 * gateways.
 *
 * @throws MeshError `failed_precondition` for limits in a mesh without Redis
 */
export function openLimits(
  settings: LimitSettings,
  { requestLimits, log }: { requestLimits?: Limits | undefined; log: Pick<Logger, 'warn'> },
): CallerLimits {
  const { maxStreams } = settings;
  if (countedSettings.some((name) => settings[name] !== undefined) && !requestLimits)
    throw new MeshError(
      'failed_precondition',
      'this mesh has no Redis, which counts requests; remove the limits',
    );
  let open = 0;

  async function count({ scope, name, most }: Counted): Promise<void> {
    if (most === undefined) return;
    const ms = (await requestLimits?.use(kindOf('requests', scope), name, { most, windowMs })) ?? 0;
    if (ms > 0)
      throw refused(ms, `${most} requests in a minute are the most for ${describe({ scope, name })}`);
  }

  /** Takes a slot until the answer is over. */
  async function takeSlot({ scope, name, most }: Counted, { raw }: FastifyReply): Promise<void> {
    if (most === undefined) return;
    const slot = await requestLimits?.take(kindOf('streams', scope), name, { most, leaseMs });
    if (!slot)
      throw refused(slotWaitMs, `${most} open streams are the most for ${describe({ scope, name })}`);
    const onFailure = (error: unknown) =>
      log.warn({ err: error }, 'could not renew or free the slot of a stream');
    const renewals = setInterval(() => slot.renew().catch(onFailure), renewMs).unref();
    const free = () => {
      clearInterval(renewals);
      slot[Symbol.asyncDispose]().catch(onFailure);
    };
    if (raw.destroyed) free();
    else raw.once('close', free);
  }

  return {
    countRequest: (request) =>
      count({ scope: 'caller', name: countedAs(request), most: settings.requestsPerMinute }),

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
      const caller = { scope: 'caller', name: countedAs(request) } as const;
      await takeSlot({ ...caller, most: settings.streamsPerCaller }, reply);
    },

    async admitTarget({ app, user }, load, reply) {
      const ofApp = { scope: 'app', name: app } as const;
      const ofUser = user === undefined ? undefined : ({ scope: 'user', name: user } as const);
      if (ofUser) await count({ ...ofUser, most: settings.userRequestsPerMinute });
      await count({ ...ofApp, most: settings.appRequestsPerMinute?.(app) });
      if (load === undefined) return;
      if (ofUser) await takeSlot({ ...ofUser, most: settings.streamsPerUser }, reply);
      await takeSlot({ ...ofApp, most: settings.streamsPerApp?.(app) }, reply);
    },
  };
}

/** Returns the name of a kind of counter: a user may have the name of an app. */
function kindOf(counted: 'requests' | 'streams', scope: Counted['scope']): string {
  return scope === 'caller' ? counted : `${scope}-${counted}`;
}

function describe({ scope, name }: Pick<Counted, 'scope' | 'name'>): string {
  return scope === 'caller' ? 'one caller' : `${scope} ${name}`;
}

function refused(ms: number, message: string): MeshError {
  return new MeshError('resource_exhausted', `${message}; try again in ${Math.ceil(ms / 1_000)} s`, {
    details: { retryAfterMs: ms },
  });
}
