import { execFile } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { provisionUser } from '@agentmesh/mesh';
import { type Sample, type Slope, slopesOf } from '@agentmesh/testing';
import { app } from '../agents.ts';
import { now } from '../check/history.ts';
import { pathOfUser } from '../clients/gateway-door.ts';
import { natsEnvironment } from '../field/logins.ts';
import type { Field } from '../field.ts';
import { makePlan, type PlanSettings } from '../plan/plan.ts';
import { type ChaosOptions, type ChaosResult, type OpenMesh, openMesh, playRound } from '../run-chaos.ts';
import { measureRest, watchProcesses } from './measure.ts';

export interface SoakOptions extends Pick<ChaosOptions, 'signal' | 'onFault' | 'onLine'> {
  /** The settings of every round; its seed follows from the number of the round. */
  settings: PlanSettings;
  minutes: number;
  onRound: (round: number, result: ChaosResult, rest: Sample) => void;
}

const operatorCommand = join(import.meta.dirname, '../../../libs/cli/src/main.ts');
/** The time between two measurements of the processes, in ms. */
const everyMs = 10_000;
/** The longest time for which NATS may be full after a round, in ms. */
const fullMs = 180_000;
/** The time of one round's traffic, in ms, and a number of runs that no round reaches in this time. */
const roundMs = 60_000;
const manyRuns = 20_000;

/** The result of a soak: the courses of all figures, and the number of violations. */
export interface SoakResult {
  rounds: number;
  violations: number;
  slopes: Slope[];
}

/**
 * Puts one mesh under load and faults for a long time. After each round the work comes to rest, its history is
 * checked, the work queues are swept, and the data of all users is deleted; the keys and streams that are left then must not grow.
 */
export async function soak({ settings, minutes, onRound, ...options }: SoakOptions): Promise<SoakResult> {
  await using mesh = await openMesh(settings, options.onLine);
  const processes: Sample[] = [];
  await using _watching = watchProcesses(mesh.field, processes, everyMs);
  const rests: Sample[] = [];
  const until = now() + minutes * 60_000;
  let rounds = 0;
  let violations = 0;
  while (now() < until && !options.signal?.aborted) {
    const plan = makePlan({ ...settings, runs: manyRuns, seed: settings.seed + rounds });
    rounds += 1;
    const result = await playRound(mesh, { plan, trafficMs: roundMs, ...options });
    violations += result.violations.length;
    await sweep(mesh.field);
    await forgetRound(mesh, result);
    const rest = await measureRest(mesh.field);
    rests.push(rest);
    onRound(rounds, result, rest);
  }
  return { rounds, violations, slopes: [...slopesOf(rests), ...slopesOf(processes)] };
}

/** Sweeps the work queues with the operator's command, as after a crash of NATS. */
async function sweep({ natsUrl, redisUrlOf, login }: Field): Promise<void> {
  const env = {
    ...process.env,
    NATS_URL: natsUrl,
    ...natsEnvironment(login(provisionUser)),
    REDIS_URL: redisUrlOf(provisionUser),
  };
  await promisify(execFile)(process.execPath, [operatorCommand, 'streams', 'sweep'], { env });
}

/**
 * Deletes a user. While NATS is full, which large news can make it for the two minutes of their life, this is
 * tried again.
 */
async function deleteUser(url: string): Promise<Response> {
  const until = now() + fullMs;
  for (;;) {
    const response = await fetch(url, { method: 'DELETE' });
    if (response.status !== 429 || now() > until) return response;
    await response.arrayBuffer();
    await delay(2_000);
  }
}

/** Deletes the data of a round: users with their sessions and files, the notes about effects, the news, and the requests of models. */
async function forgetRound({ field, nats }: OpenMesh, { traffic }: ChaosResult): Promise<void> {
  const users = new Set([...traffic.sessions.values()].map(({ userId }) => userId));
  const [gateway] = field.gatewayUrls;
  for (const user of users) {
    const response = await deleteUser(`${gateway}${pathOfUser(app, user)}`);
    if (!response.ok) throw new Error(`${user} was not deleted: ${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  }
  for (const file of readdirSync(field.effects)) rmSync(join(field.effects, file));
  nats.news.length = 0;
  field.log.faults.length = 0;
  field.model.requests.length = 0;
}
