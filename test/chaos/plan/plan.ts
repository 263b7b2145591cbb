import { readFileSync, writeFileSync } from 'node:fs';
import type { AccountForm } from '../field/logins.ts';
import type { RedisKind } from '../field/servers.ts';
import { type PlannedFault, planFaultsOf } from './faults.ts';
import type { Mix } from './mixes.ts';
import type { Visit } from './steps.ts';
import type { VisitKind } from './visit-kinds.ts';
import { runsOf, visitsOf } from './visits.ts';

/** The settings of a chaos run that its history depends on. */
export interface PlanSettings {
  seed: number;
  mixes: Mix[];
  /** The number of runs. */
  runs: number;
  /** The kinds of visits; default all. */
  visits?: readonly VisitKind[] | undefined;
  /** The number of clients that work at the same time. */
  clients: number;
  /** The mean time between two faults, in ms; default depends on the mixes. */
  everyMs?: number | undefined;
  /** The longest time for which a server is away, in ms. */
  longestMs: number;
  /** The silence after which a run is delivered again, in ms. */
  ackWaitMs: number;
  /** The mean time of a model's answer, in ms. */
  thinkMs: number;
  natsServers: number;
  /** The form of the NATS accounts; a plan of an earlier version has the form `file`. */
  accounts?: AccountForm;
  redisKind: RedisKind;
  waitReplicas: number;
}

/** Everything that a chaos run does: the same settings give the same plan. */
export interface Plan {
  settings: PlanSettings;
  visits: Visit[];
  faults: PlannedFault[];
}

/** The time for which faults are planned, in ms; no run of the mesh under a plan lasts longer. */
const untilMs = 15 * 60_000;

export function makePlan(settings: PlanSettings): Plan {
  const { seed, mixes, runs, visits: kinds } = settings;
  const visits: Visit[] = [];
  let planned = 0;
  for (const visit of visitsOf(seed, mixes, kinds)) {
    if (planned >= runs) break;
    visits.push(visit);
    planned += runsOf(visit);
  }
  return { settings, visits, faults: planFaultsOf({ ...settings, untilMs }) };
}

/** The format of a plan in a file; another format cannot be replayed. */
const format = 1;

export function writePlan(file: string, plan: Plan): void {
  writeFileSync(file, `${JSON.stringify({ format, ...plan }, undefined, 1)}\n`);
}

/** Reads a plan from a file. @throws Error when the file holds no plan of this format */
export function readPlan(file: string): Plan {
  const read = readJson(file);
  const plan = read as (Partial<Plan> & { format?: unknown }) | undefined;
  if (plan?.format !== format || !plan.settings || !plan.visits || !plan.faults)
    throw new Error(`no plan of format ${format} is in the file; a failing chaos run writes such a file`);
  const { settings, visits, faults } = plan;
  return { settings, visits, faults };
}

/** Returns the value in a JSON file; undefined for another file. @throws Error when there is no such file */
function readJson(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(code === 'ENOENT' ? 'there is no such file' : `the file cannot be read (${code})`);
  }
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
