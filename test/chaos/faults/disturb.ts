import { setTimeout as pause } from 'node:timers/promises';
import type { TcpProxy } from '@agentmesh/testing';
import { beginSpan } from '../field/lives.ts';
import type { Field } from '../field.ts';
import type { PlannedFault } from '../plan/faults.ts';
import type { Replica } from '../replica.ts';

/** The delay of each piece of bytes of a slow connection, in ms. */
const slowMs = 150;

/**
 * Disturbs the connections of one place for a time. A field without proxies (its servers are clusters) has no
 * such connections; then nothing happens.
 */
export async function disturb(
  field: Field,
  place: Replica,
  { kind, side = 'nats', forMs }: PlannedFault,
  signal: AbortSignal,
): Promise<void> {
  const links = field.network.linksOf(place.name);
  const hurt = kind === 'partition' ? [links.nats, links.redis] : [links[side]];
  const proxies = hurt.filter((proxy) => proxy !== undefined);
  for (const proxy of proxies) disturbances[kind]?.(proxy);
  const isCutOff = kind === 'partition' && proxies.length === 2;
  const reconnect = isCutOff ? beginSpan(place.record.cutOffs) : undefined;
  await pause(forMs, undefined, { signal }).catch(() => {});
  for (const proxy of proxies) proxy.heal();
  reconnect?.();
}

const disturbances: Partial<Record<PlannedFault['kind'], (proxy: TcpProxy) => void>> = {
  cut: (proxy) => proxy.cut(),
  refuse: (proxy) => proxy.refuse(),
  partition: (proxy) => proxy.stall(),
  stall: (proxy) => proxy.stall(),
  slow: (proxy) => proxy.delay(slowMs),
};
