import type { IncomingMessage, ServerResponse } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { type Meter, metrics } from '@opentelemetry/api';
import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';
import { type Sends, type WarningLog, watchSends } from '../traces/sends.ts';

/** The metrics of a process, in Prometheus' text format. */
export interface Metrics extends AsyncDisposable {
  /** Answers a request for all metrics. */
  answer(request: IncomingMessage, response: ServerResponse): void;
}

export interface MetricsOptions {
  /** The name of the service. */
  service: string;
  /** The name of this process among the replicas of the service. */
  replica: string;
  /** The version of the program; undefined when it is not known. */
  version?: string | undefined;
  /**
   * With a log the metrics are also sent to the receiver that OpenTelemetry's variables name (OTLP over HTTP), every
   * `OTEL_METRIC_EXPORT_INTERVAL` ms, default 60,000. The log gets one warning when they cannot be sent.
   */
  push?: WarningLog | undefined;
}

/** Longest time that the last metrics of a process may take to be sent, in ms: it is part of the grace period. */
const flushMs = 500;

/**
 * Starts to collect the metrics that the code of this process records by OpenTelemetry's API. Call it once per
 * process, before the first work: earlier figures are lost.
 */
export async function startMetrics({ service, replica, version, push }: MetricsOptions): Promise<Metrics> {
  // A process without metrics does not load these libraries.
  const [{ MeterProvider }, { PrometheusExporter }, { resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/sdk-metrics'),
    import('@opentelemetry/exporter-prometheus'),
    import('@opentelemetry/resources'),
  ]);
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const resource = resourceFromAttributes({
    'service.name': service,
    'service.instance.id': replica,
    ...(version !== undefined && { 'service.version': version }),
  });
  const sends =
    push && watchSends(push, 'metrics cannot be sent; check OTEL_EXPORTER_OTLP_ENDPOINT and its receiver');
  const readers = [exporter, ...(sends ? [await pushReader(sends)] : [])];
  const provider = new MeterProvider({ resource, readers });
  metrics.setGlobalMeterProvider(provider);
  const stopProcess = observeProcess(provider.getMeter('agentmesh'));
  return {
    answer: (request, response) => exporter.getMetricsRequestHandler(request, response),
    async [Symbol.asyncDispose]() {
      stopProcess();
      metrics.disable();
      // A receiver that does not answer must not hold up the stop.
      const late = new AbortController();
      await Promise.race([
        provider.shutdown().catch(() => {}),
        delay(flushMs, undefined, { signal: late.signal }).catch(() => {}),
      ]);
      late.abort();
      sends?.giveUp();
    },
  };
}

/** Returns the reader that sends the metrics again and again, and once more at the stop. */
async function pushReader(sends: Sends) {
  const [{ PeriodicExportingMetricReader }, { OTLPMetricExporter }] = await Promise.all([
    import('@opentelemetry/sdk-metrics'),
    import('@opentelemetry/exporter-metrics-otlp-http'),
  ]);
  class WatchedExporter extends OTLPMetricExporter {
    override export(...[data, done]: Parameters<PushMetricExporter['export']>): void {
      super.export(data, sends.begin(done));
    }
  }
  const everyMs = Number(process.env.OTEL_METRIC_EXPORT_INTERVAL) || 60_000;
  return new PeriodicExportingMetricReader({
    exporter: new WatchedExporter(),
    exportIntervalMillis: everyMs,
    exportTimeoutMillis: Math.min(everyMs, Number(process.env.OTEL_METRIC_EXPORT_TIMEOUT) || 30_000),
  });
}

/** Time between two looks at the event loop, in ms. */
const resolutionMs = 20;

/** Observes the memory, the CPU time, the clock and the event loop of the process, by the names of OpenTelemetry. */
function observeProcess(meter: Meter): () => void {
  const loop = monitorEventLoopDelay({ resolution: resolutionMs });
  loop.enable();
  meter
    .createObservableGauge('nodejs.eventloop.delay.p99', {
      unit: 's',
      description: 'Delay of the event loop since the last look, 99th percentile',
    })
    .addCallback((result) => {
      // Node measures the time between two looks, which are `resolutionMs` apart in an idle process.
      const seconds = Math.max(0, loop.percentile(99) / 1e9 - resolutionMs / 1_000);
      loop.reset();
      result.observe(seconds);
    });
  meter
    .createObservableGauge('process.memory.usage', { unit: 'By', description: 'Memory of the process (RSS)' })
    .addCallback((result) => result.observe(process.memoryUsage.rss()));
  meter
    .createObservableGauge('process.clock.time', {
      unit: 's',
      description: 'Wall clock of the process, since 1970',
    })
    .addCallback((result) => result.observe(Date.now() / 1_000));
  meter
    .createObservableCounter('process.cpu.time', { unit: 's', description: 'CPU time of the process' })
    .addCallback((result) => {
      const { user, system } = process.cpuUsage();
      result.observe(user / 1e6, { 'cpu.mode': 'user' });
      result.observe(system / 1e6, { 'cpu.mode': 'system' });
    });
  return () => loop.disable();
}
