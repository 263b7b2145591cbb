import type { Bus } from '../bus/bus.ts';
import type { NatsOptions } from './nats-options.ts';
import { openNats } from './open-nats.ts';

/**
 * Connects a service to the mesh over NATS. Restores a lost connection until the bus is disposed.
 *
 * @throws MeshError `unauthenticated` at once for wrong credentials; `unavailable` when no server answers in
 * `connectTimeoutMs`
 */
export async function connectNats(options: NatsOptions): Promise<Bus> {
  return (await openNats(options)).bus;
}
