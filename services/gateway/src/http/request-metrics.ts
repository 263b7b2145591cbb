import { type Histogram, metrics } from '@opentelemetry/api';

/** The limits of the buckets, in s: from a look-up to the stream of a long run. */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];

let made: Histogram | undefined;

/** The instrument is made at the first use: the process sets its provider when it starts. */
function durations(): Histogram {
  made ??= metrics.getMeter('agentmesh').createHistogram('http.server.request.duration', {
    unit: 's',
    description: 'Time of requests at the gateway, streams included',
    advice: { explicitBucketBoundaries: buckets },
  });
  return made;
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
  durations().record(ms / 1_000, {
    'http.request.method': method,
    'http.route': route,
    'http.response.status_code': status,
  });
}
