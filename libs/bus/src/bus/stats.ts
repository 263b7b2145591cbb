import { MeshError } from '@agentmesh/protocol';

/** What one endpoint has done since the process started, as $SRV.STATS shows it. Times are in ns. */
export interface EndpointStats {
  requests: number;
  errors: number;
  lastError: string;
  processingNs: number;
}

/** Counters of this process by subject. */
export interface Stats {
  of(subject: string): EndpointStats;
  /** Counts a request that starts now; the result is called when it ends, with what went wrong. */
  start(subject: string): (thrown?: unknown) => void;
}

export function createStats(): Stats {
  const endpoints = new Map<string, EndpointStats>();

  function of(subject: string): EndpointStats {
    let endpoint = endpoints.get(subject);
    if (!endpoint) {
      endpoint = { requests: 0, errors: 0, lastError: '', processingNs: 0 };
      endpoints.set(subject, endpoint);
    }
    return endpoint;
  }

  function start(subject: string) {
    const endpoint = of(subject);
    const startedAt = performance.now();
    return (thrown?: unknown) => {
      endpoint.requests += 1;
      endpoint.processingNs += Math.round((performance.now() - startedAt) * 1e6);
      if (thrown === undefined) return;
      const { code, message } = MeshError.from(thrown);
      endpoint.errors += 1;
      endpoint.lastError = `${code}: ${message}`;
    };
  }

  return { of, start };
}
