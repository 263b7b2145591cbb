import { AsyncDisposableStack } from '@agentmesh/protocol';
import { type HealthOptions, startHealth } from './health.ts';
import { type MetricsOptions, startMetrics } from './metrics.ts';

/** The part of a log that is used. */
interface AddressLog {
  info(fields: object, message: string): void;
}

export interface ProbesOptions extends Pick<HealthOptions, 'ready'>, MetricsOptions {
  /** The part of the configuration of a service. */
  config: { healthPort: number | undefined; healthHost: string; metrics: 'on' | 'off' };
  log: AddressLog;
}

/**
 * Serves the health and the metrics of a process on `MESH_HEALTH_PORT`, or nothing without this port.
 *
 * @throws the listen error, such as EADDRINUSE
 */
export async function startProbes({
  config,
  ready,
  service,
  replica,
  log,
}: ProbesOptions): Promise<AsyncDisposable> {
  const { healthPort: port, healthHost: host } = config;
  await using owners = new AsyncDisposableStack();
  if (port === undefined) return owners.move();
  const metrics = config.metrics === 'on' ? owners.use(await startMetrics({ service, replica })) : undefined;
  const health = owners.use(await startHealth({ port, host, ready, ...(metrics && { metrics }) }));
  log.info({ address: host, port: health.port }, 'health port is open');
  return owners.move();
}
