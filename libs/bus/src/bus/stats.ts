import { MeshError } from '@agentmesh/protocol';

/** The counters of one endpoint since the process started, as $SRV.STATS shows them. Times are in ns. */
export interface EndpointStats {
  requests: number;
  errors: number;
  lastError: string;
  processingNs: number;
}

/** The counters of this process by subject. */
export interface Stats {
  of(subject: string): EndpointStats;
  /**
   * Starts to count a request. Returns a function to call at the end of the request, with the error if the
   * request failed.
   */
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
