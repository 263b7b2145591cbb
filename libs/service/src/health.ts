import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Yes, no, or the reasons why not (none: yes). */
export type Verdict = boolean | readonly string[];

export interface HealthChecks {
  /**
   * False only when a restart would help. A broker or a store that is away is not such a case: all replicas would be restarted
   * at once, and come back to the same.
   */
  live?(): Verdict;
  /** Is the replica connected, subscribed and not stopping? Paces rollouts; NATS sends work by subscription, not by readiness. */
  ready(): Verdict | Promise<Verdict>;
  /** Longest time the event loop stood still since the last question, in ms. */
  lagMs(): number;
  /** From here a standstill of the event loop counts as not live, in ms. */
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

/** Answers `/livez` and `/readyz`. Never throws: a check that throws is a no, and its text is not shown to the caller. */
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
  /** 0: any free one. */
  port: number;
  host: string;
  /** Default 5000. */
  maxLagMs?: number;
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
 * Serves `GET /livez` and `GET /readyz` for probes: 200, or 503 with `{ ok, reasons }`. Stop it last, so that the probes of a
 * stopping pod are answered to the end.
 *
 * @throws the listen error, such as EADDRINUSE
 */
export async function startHealth(options: HealthOptions): Promise<Health> {
  const { live, ready, maxLagMs = 5_000 } = options;
  const loop = watchEventLoop();
  const checks: HealthChecks = { ready, lagMs: loop.lagMs, maxLagMs, ...(live && { live }) };
  const server = createServer(async (request, response) => {
    const { status, body } = await answerHealth(request.url?.split('?')[0] ?? '/', checks);
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
    response.end(JSON.stringify(body));
  });
  try {
    const port = await listen(server, options.port, options.host);
    return {
      port,
      async [Symbol.asyncDispose]() {
        loop.stop();
        server.closeAllConnections();
        await new Promise<void>((resolve) => server.close(() => resolve()));
      },
    };
  } catch (error) {
    loop.stop();
    throw error;
  }
}
