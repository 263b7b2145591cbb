import type { ServerResponse } from 'node:http';
import { metrics } from '@opentelemetry/api';

/** The limits of the buckets, in s: from a look-up to the stream of a long run. */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];

type Instruments = ReturnType<typeof makeInstruments>;

let made: Instruments | undefined;

/** The instruments are made at the first use: the process sets its provider when it starts. */
function instruments(): Instruments {
  made ??= makeInstruments();
  return made;
}

function makeInstruments() {
  const meter = metrics.getMeter('agentmesh');
  const streams = meter.createUpDownCounter('agentmesh.sse.streams', {
    description: 'Open streams of events to clients',
  });
  // A gateway without a stream shows 0.
  streams.add(0);
  const durations = meter.createHistogram('http.server.request.duration', {
    unit: 's',
    description: 'Time of requests at the gateway, streams included',
    advice: { explicitBucketBoundaries: buckets },
  });
  return { durations, streams };
}

/** Counts a stream of events as open until its connection is closed, by whomever. */
export function countStream(raw: ServerResponse): void {
  if (raw.destroyed) return;
  const { streams } = instruments();
  streams.add(1);
  raw.once('close', () => streams.add(-1));
}

/** Counts a request that is over, by the names of OpenTelemetry. */
export function countRequest(request: {
  method: string;
  /** The pattern of the route. */
  route: string | undefined;
  status: number;
  ms: number;
}): void {
  const { method, route = '', status, ms } = request;
  instruments().durations.record(ms / 1_000, {
    'http.request.method': method,
    'http.route': route,
    'http.response.status_code': status,
  });
}
