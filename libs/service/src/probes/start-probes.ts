import { AsyncDisposableStack } from '@agentmesh/protocol';
import { type HealthOptions, startHealth } from './health.ts';
import { type MetricsOptions, startMetrics } from './metrics.ts';

/** The part of a log that is used. */
interface ProbesLog extends NonNullable<MetricsOptions['push']> {
  info(fields: object, message: string): void;
}

export interface ProbesOptions extends Pick<HealthOptions, 'ready'>, Omit<MetricsOptions, 'push'> {
  /** The part of the configuration of a service. */
  config: { healthPort: number | undefined; healthHost: string; metrics: 'on' | 'otlp' | 'off' };
  log: ProbesLog;
}

/**
 * Serves the health and the metrics of a process on `MESH_HEALTH_PORT`, or nothing without this port. With
 * `MESH_METRICS=otlp` the metrics are also sent, with or without the port.
 *
 * @throws the listen error, such as EADDRINUSE
 */
export async function startProbes({
  config,
  ready,
  service,
  replica,
  version,
  log,
}: ProbesOptions): Promise<AsyncDisposable> {
  const { healthPort: port, healthHost: host } = config;
  await using owners = new AsyncDisposableStack();
  const isPushed = config.metrics === 'otlp';
  const isCollected = isPushed || (config.metrics === 'on' && port !== undefined);
  const options = { service, replica, version, ...(isPushed && { push: log }) };
  const metrics = isCollected ? owners.use(await startMetrics(options)) : undefined;
  if (port === undefined) return owners.move();
  const health = owners.use(await startHealth({ port, host, ready, ...(metrics && { metrics }) }));
  log.info({ address: host, port: health.port }, 'health port is open');
  return owners.move();
}
