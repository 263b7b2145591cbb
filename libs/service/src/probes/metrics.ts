import type { IncomingMessage, ServerResponse } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type Meter, metrics } from '@opentelemetry/api';

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
}

/**
 * Starts to collect the metrics that the code of this process records by OpenTelemetry's API. Call it once per
 * process, before the first work: earlier figures are lost.
 */
export async function startMetrics({ service, replica }: MetricsOptions): Promise<Metrics> {
  // A process without metrics does not load these libraries.
  const [{ MeterProvider }, { PrometheusExporter }, { resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/sdk-metrics'),
    import('@opentelemetry/exporter-prometheus'),
    import('@opentelemetry/resources'),
  ]);
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const resource = resourceFromAttributes({ 'service.name': service, 'service.instance.id': replica });
  const provider = new MeterProvider({ resource, readers: [exporter] });
  metrics.setGlobalMeterProvider(provider);
  const stopProcess = observeProcess(provider.getMeter('agentmesh'));
  return {
    answer: (request, response) => exporter.getMetricsRequestHandler(request, response),
    async [Symbol.asyncDispose]() {
      stopProcess();
      metrics.disable();
      await provider.shutdown();
    },
  };
}

/** Observes the memory, the CPU time and the event loop of the process, by the names of OpenTelemetry. */
function observeProcess(meter: Meter): () => void {
  const loop = monitorEventLoopDelay({ resolution: 20 });
  loop.enable();
  meter
    .createObservableGauge('nodejs.eventloop.delay.p99', {
      unit: 's',
      description: 'Delay of the event loop since the last look, 99th percentile',
    })
    .addCallback((result) => {
      const seconds = loop.percentile(99) / 1e9;
      loop.reset();
      result.observe(seconds);
    });
  meter
    .createObservableGauge('process.memory.usage', { unit: 'By', description: 'Memory of the process (RSS)' })
    .addCallback((result) => result.observe(process.memoryUsage.rss()));
  meter
    .createObservableCounter('process.cpu.time', { unit: 's', description: 'CPU time of the process' })
    .addCallback((result) => {
      const { user, system } = process.cpuUsage();
      result.observe(user / 1e6, { 'cpu.mode': 'user' });
      result.observe(system / 1e6, { 'cpu.mode': 'system' });
    });
  return () => loop.disable();
}
