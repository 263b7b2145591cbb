import { recordTraceContent } from '@agentmesh/protocol';
import { context, trace } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace-base';
import { type Sends, type WarningLog, watchSends } from './sends.ts';

export interface TracesOptions {
  /** The part of the configuration of a service. */
  config: { traces: 'off' | 'otlp'; traceContent: '0' | '1'; traceRedact: RegExp | undefined };
  /** The name of the service. */
  service: string;
  /** The name of this process among the replicas of the service. */
  replica: string;
  /** The version of the program; undefined when it is not known. */
  version: string | undefined;
  log: WarningLog;
}

/** Longest time that the last spans of a process may take to be sent, in ms: it is part of the grace period. */
const flushMs = 500;

/**
 * Sends the spans of this process to the receiver that OpenTelemetry's variables name (OTLP over HTTP). Call it once
 * per process, before the first work. When it is disposed, it sends the spans that are left, for half a second at
 * most. Undefined when traces are off: then no library for traces is loaded.
 */
export async function startTraces({
  config,
  service,
  replica,
  version,
  log,
}: TracesOptions): Promise<AsyncDisposable | undefined> {
  if (config.traces === 'off') return undefined;
  const [
    { BasicTracerProvider, BatchSpanProcessor },
    { OTLPTraceExporter },
    { resourceFromAttributes },
    { AsyncLocalStorageContextManager },
  ] = await Promise.all([
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/context-async-hooks'),
  ]);
  const sends = watchSends(
    log,
    'spans cannot be sent: they are lost; check OTEL_EXPORTER_OTLP_ENDPOINT and its receiver',
  );
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      'service.name': service,
      'service.instance.id': replica,
      ...(version !== undefined && { 'service.version': version }),
    }),
    spanProcessors: [new BatchSpanProcessor(watched(new OTLPTraceExporter(), sends))],
  });
  trace.setGlobalTracerProvider(provider);
  // Code within a tool finds the span of the tool as the active one.
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  recordTraceContent(config.traceContent === '1', config.traceRedact);
  return {
    async [Symbol.asyncDispose]() {
      trace.disable();
      context.disable();
      recordTraceContent(false);
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, flushMs);
      });
      // A receiver that does not answer must not hold up the stop.
      await Promise.race([provider.shutdown().catch(() => {}), late]);
      clearTimeout(timer);
      sends.giveUp();
    },
  };
}

/** Returns the exporter with its exports watched. Spans that cannot be sent are lost; the work goes on. */
function watched(exporter: SpanExporter, sends: Sends): SpanExporter {
  return {
    export: (spans, done) => exporter.export(spans, sends.begin(done)),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => await exporter.forceFlush?.(),
  };
}
