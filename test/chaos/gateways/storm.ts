import { setTimeout as delay } from 'node:timers/promises';
import { MeshClient, MeshClientError, type Run, type RunEvent, type SessionRef } from '@agentmesh/client';
import type { LocalMesh } from '@agentmesh/deploy/launch';
import { startRoundRobin } from '../../round-robin.ts';

const minuteMs = 60_000;

export interface StormOptions {
  mesh: LocalMesh;
  app: string;
  message: string;
  /** Clients that read runs at the same time, one run after the other. */
  clients: number;
  /** The length of the storm, in ms; with a limited caller two minutes, of which one is a minute of the clock. */
  lengthMs: number;
  /** The time between two kills, in ms. */
  killEveryMs: number;
  /** Headers of every request. */
  headersOf: (user: string) => Record<string, string>;
  /** The caller whose requests are limited, and twice that many of which are sent. */
  limited?: { user: string; perMinute: number };
}

export interface StormReport {
  kills: number;
  /** Runs that were read to their end. */
  runs: number;
  /** Connections to runs that were lost and came back. */
  returns: number;
  /** Messages whose connection was lost before a gateway answered: the client says so, and reads nothing. */
  unanswered: number;
  /** Events that a client missed, got twice, or got in another order than the log has them. */
  wrong: string[];
  /** The number of requests of the limited caller that were answered with 200. */
  accepted: number;
}

/** Has clients read runs behind a proxy before two gateways, of which one is killed every few seconds. */
export async function storm(options: StormOptions): Promise<StormReport> {
  const { mesh, clients, lengthMs, headersOf } = options;
  const report: StormReport = { kills: 0, runs: 0, returns: 0, unanswered: 0, wrong: [], accepted: 0 };
  const gateways = await Promise.all([mesh.start('gateway'), mesh.start('gateway')]);
  const addresses = gateways.map(({ address = '' }) => address);
  await using proxy = await startRoundRobin(addresses);
  const until = performance.now() + lengthMs;
  const isOver = () => performance.now() >= until;
  const fetchAs =
    (user: string): typeof fetch =>
    (input, init = {}) =>
      fetch(input, { ...init, headers: { ...(init.headers as Record<string, string>), ...headersOf(user) } });

  async function kill() {
    for (let turn = 0; !isOver(); turn += 1) {
      await delay(options.killEveryMs);
      const at = turn % 2;
      await gateways[at]?.kill();
      report.kills += 1;
      const next = await mesh.start('gateway');
      gateways[at] = next;
      addresses[at] = next.address ?? '';
    }
  }

  async function client(user: string) {
    const mine = new MeshClient({ url: proxy.url, fetch: fetchAs(user) });
    while (!isOver()) {
      const session = await persist(() => mine.createSession({ app: options.app, user }));
      const onConnection = (state: string) => {
        if (state === 'restored') report.returns += 1;
      };
      let run: Run;
      try {
        run = await mine.run(session, options.message, { onConnection });
      } catch (error) {
        if (!(error instanceof MeshClientError) || error.code !== 'unavailable') throw error;
        report.unanswered += 1;
        continue;
      }
      const seen = await Array.fromAsync(run);
      const { events } = await persist(() => mine.events(session));
      const wrong = compare(session, seen, events.slice(1));
      if (wrong !== undefined) report.wrong.push(wrong);
      report.runs += 1;
    }
  }

  /**
   * Sends twice as many requests as the caller may, evenly over 50 seconds of one minute of the clock: the window in
   * which the gateways count.
   */
  async function limitedCaller({ user, perMinute }: { user: string; perMinute: number }) {
    const get = fetchAs(user);
    const spanMs = 50_000;
    await delay(minuteMs - (Date.now() % minuteMs));
    const answers = Array.from({ length: 2 * perMinute }, async (_, at) => {
      await delay((spanMs * at) / (2 * perMinute));
      const response = await get(`${proxy.url}/list-apps`).catch(() => undefined);
      await response?.text().catch(() => undefined);
      if (response?.status === 200) report.accepted += 1;
    });
    await Promise.all(answers);
  }

  const names = Array.from({ length: clients }, (_, at) => `user-${at}`);
  const { limited } = options;
  await Promise.all([kill(), limited && limitedCaller(limited), ...names.map(client)]);
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  return report;
}

/** Repeats a call that changes nothing, or whose repetition does no harm, while no gateway answers. */
async function persist<T>(call: () => Promise<T>): Promise<T> {
  for (let left = 50; ; left -= 1) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof MeshClientError) || error.code !== 'unavailable' || left === 0) throw error;
      await delay(200);
    }
  }
}

/** Compares what a client saw with the log. Returns what differs. */
function compare(
  { session }: SessionRef,
  seen: readonly RunEvent[],
  log: readonly { seq: number; event: { id?: string } }[],
): string | undefined {
  const got = seen.flatMap(({ seq, event }) => (seq === undefined ? [] : `${seq}:${event.id}`));
  const kept = log.map(({ seq, event }) => `${seq}:${event.id}`);
  return got.join() === kept.join() ? undefined : `session ${session}: saw ${got}, and the log has ${kept}`;
}
