import { readFileSync } from 'node:fs';
import type { OpenApiDocument } from '@agentmesh/gateway/open-api';
import { seededRandom } from '@agentmesh/testing';
import { type FuzzedRequest, fuzzer } from './requests.ts';
import { type FuzzedAnswer, openSender } from './send.ts';

export interface FuzzOptions {
  /** The address of a gateway that asks for no credentials. */
  url: string;
  count: number;
  seed: number;
  /** Requests at the same time. */
  inFlight?: number;
  /** The process of the gateway, whose memory is watched. */
  pid?: number | undefined;
  /** The app, the user and the session of right requests. */
  known: Record<string, string>;
}

export interface FuzzReport {
  /** The number of answers by status. */
  statuses: Record<string, number>;
  /** Requests whose answer was the gateway's fault. */
  failures: { request: FuzzedRequest; answer: FuzzedAnswer }[];
  /** The largest memory of the gateway, in MiB. */
  mostMiB: number;
}

/** Sends random requests to a gateway. A status of 500 or more is a failure, except 501, which names what is not supported. */
export async function fuzz({
  url,
  count,
  seed,
  inFlight = 16,
  pid,
  known,
}: FuzzOptions): Promise<FuzzReport> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApiDocument;
  const sender = openSender(url, inFlight);
  const statuses: Record<string, number> = {};
  const failures: FuzzReport['failures'] = [];
  let mostMiB = 0;
  let sent = 0;
  async function worker(name: number) {
    const next = fuzzer(document, seededRandom(`${seed}/${name}`), known);
    while (sent < count) {
      sent += 1;
      const request = next();
      const answer = await sender.send(request);
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      const isFailure = answer.status === 'cut' || (Number(answer.status) >= 500 && answer.status !== 501);
      if (isFailure) failures.push({ request, answer });
      if (pid !== undefined && sent % 100 === 0) mostMiB = Math.max(mostMiB, memoryOf(pid));
    }
  }
  await Promise.all(Array.from({ length: inFlight }, (_, name) => worker(name)));
  sender.close();
  return { statuses, failures, mostMiB };
}

function memoryOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
}
