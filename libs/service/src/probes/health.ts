import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Metrics } from './metrics.ts';

// An import would read every export of the module, and so load the client of `fetch`, which takes 11 MiB of an empty
// process.
const { createServer } = process.getBuiltinModule('node:http');

/** Yes, no, or the reasons for a no (an empty list is a yes). */
export type Verdict = boolean | readonly string[];

export interface HealthChecks {
  /**
   * Tells whether the process is live. Return false only when a restart would help. An unreachable broker or
   * store is no such case: all replicas would be restarted at once, without any effect.
   */
  live?(): Verdict;
  /**
   * Tells whether the replica is connected, subscribed and not stopping. Rollouts wait for it; NATS sends
   * work by subscription, not by readiness.
   */
  ready(): Verdict | Promise<Verdict>;
  /** Returns the longest standstill of the event loop since the last question, in ms. */
  lagMs(): number;
  /** Standstill of the event loop from which on the process is not live, in ms. */
  maxLagMs: number;
}

export interface HealthAnswer {
  status: 200 | 404 | 503;
  body: { ok: boolean; reasons: string[] };
}

function reasonsOf(verdict: Verdict, no: string): string[] {
  if (typeof verdict === 'boolean') return verdict ? [] : [no];
  return [...verdict];
}

/**
 * Answers `/livez` and `/readyz`. Never throws: a check that throws is a no, and the caller does not see its
 * text.
 */
export async function answerHealth(path: string, checks: HealthChecks): Promise<HealthAnswer> {
  const reasons: string[] = [];
  try {
    if (path === '/livez') {
      const lag = Math.round(checks.lagMs());
      if (lag >= checks.maxLagMs) reasons.push(`the event loop stood still for ${lag} ms`);
      reasons.push(...reasonsOf(checks.live?.() ?? true, 'not live'));
    } else if (path === '/readyz') {
      reasons.push(...reasonsOf(await checks.ready(), 'not ready'));
    } else {
      return { status: 404, body: { ok: false, reasons: ['ask for /livez or /readyz'] } };
    }
  } catch {
    reasons.push('the check failed');
  }
  return { status: reasons.length === 0 ? 200 : 503, body: { ok: reasons.length === 0, reasons } };
}

export interface HealthOptions extends Pick<HealthChecks, 'live' | 'ready'> {
  /** Port; 0 for any free port. */
  port: number;
  host: string;
  /** Default 5000. */
  maxLagMs?: number;
  /** The metrics to show at `/metrics`; default none. */
  metrics?: Pick<Metrics, 'answer'>;
}

export interface Health extends AsyncDisposable {
  readonly port: number;
}

function watchEventLoop() {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  return {
    lagMs() {
      const longest = delay.max / 1e6;
      delay.reset();
      return longest;
    },
    stop: () => delay.disable(),
  };
}

async function listen(server: Server, port: number, host: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(port, host, resolve);
  await promise;
  return (server.address() as AddressInfo).port;
}

/**
 * Serves `GET /livez` and `GET /readyz` for probes: 200, or 503 with `{ ok, reasons }`; and the metrics at
 * `/metrics`. Stop it last, so that
 * the probes of a stopping pod get answers to the end.
 *
 * @throws the listen error, such as EADDRINUSE
 */
export async function startHealth(options: HealthOptions): Promise<Health> {
  const { live, ready, maxLagMs = 5_000 } = options;
  const loop = watchEventLoop();
  const checks: HealthChecks = { ready, lagMs: loop.lagMs, maxLagMs, ...(live && { live }) };
  const server = createServer(async (request, response) => {
    const path = request.url?.split('?')[0] ?? '/';
    if (path === '/metrics' && options.metrics) {
      options.metrics.answer(request, response);
      return;
    }
    const { status, body } = await answerHealth(path, checks);
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
    response.end(JSON.stringify(body));
  });
  try {
    const port = await listen(server, options.port, options.host);
    return {
      port,
      async [Symbol.asyncDispose]() {
        loop.stop();
        // Once the port is closed, no further connection can hold up the close.
        const closed = new Promise<void>((resolve) => server.close(() => resolve()));
        server.closeAllConnections();
        await closed;
      },
    };
  } catch (error) {
    loop.stop();
    throw error;
  }
}
