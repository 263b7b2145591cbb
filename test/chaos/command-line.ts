import { type Option, readOptions, usageOf, WrongUsage } from '../command-options.ts';
import { accountForms } from './field/logins.ts';
import { redisKinds } from './field/servers.ts';
import { mixes, readMixes } from './plan/mixes.ts';
import { makePlan, type Plan, readPlan } from './plan/plan.ts';
import { allVisitKinds, readVisitKinds } from './plan/visit-kinds.ts';
import { defaultSettings } from './run-chaos.ts';

export { WrongUsage };

const ofPlan = {
  runs: { value: '<n>', meaning: 'number of runs that clients begin; default 300' },
  seed: { value: '<n>', meaning: 'the same seed plans the same traffic and faults; default a random one' },
  mix: { value: '<names>', meaning: `faults, with commas between them: ${mixes.join(', ')}; default all` },
  visits: { value: '<names>', meaning: `kinds of traffic: ${allVisitKinds.join(', ')}; default every kind` },
  clients: { value: '<n>', meaning: `clients at the same time; default ${defaultSettings.clients}` },
  'fault-every': { value: '<ms>', meaning: 'mean time between two faults; default depends on the mixes' },
  'longest-outage': {
    value: '<s>',
    meaning: `longest time for which a server is away; default ${defaultSettings.longestMs / 1_000}`,
  },
  'nats-servers': { value: '<n>', meaning: '1, or 3 as a cluster; default 1' },
  accounts: {
    value: '<form>',
    meaning: `form of the NATS accounts: ${accountForms.join(', ')}; default ${defaultSettings.accounts}`,
  },
  redis: { value: '<kind>', meaning: `${redisKinds.join(', ')}; default ${defaultSettings.redisKind}` },
  'wait-replicas': {
    value: '<n>',
    meaning: 'Redis replicas that must have a write, 0 or 1; default 0 for one server, else 1',
  },
} satisfies Record<string, Option>;

const options = {
  ...ofPlan,
  soak: { value: '<minutes>', meaning: 'rounds of one minute of traffic on one mesh' },
  replay: { value: '<file>', meaning: 'carries out the plan that a failing run wrote' },
  shrink: { value: '<file>', meaning: 'drops faults and messages from such a plan while it fails' },
  tries: { value: '<n>', meaning: 'runs that --shrink may make; default 20' },
  verbose: { meaning: 'prints each fault and the lines of all processes' },
  help: { meaning: 'prints this text' },
} satisfies Record<string, Option>;

type Name = keyof typeof options;
type Values = Partial<Record<Name, string>>;

/** The options that go with the option that chooses the kind of work. */
const together: Partial<Record<Name, readonly string[]>> = {
  replay: ['verbose'],
  shrink: ['tries', 'verbose'],
  soak: [...Object.keys(ofPlan).filter((name) => name !== 'runs'), 'verbose'],
};

/** The work that a command line asks for. */
export type Work = { verbose: boolean } & (
  | { do: 'help'; text: string }
  | { do: 'shrink'; file: string; plan: Plan; tries: number }
  | { do: 'soak'; plan: Plan; minutes: number }
  | { do: 'run'; plan: Plan }
);

/** Reads a command line. @throws WrongUsage */
export function readCommandLine(args: readonly string[]): Work {
  const values: Values = readOptions(options, args);
  const verbose = values.verbose !== undefined;
  if (values.help !== undefined) return { do: 'help', text: usageOf('chaos', options), verbose };
  assertTogether(values);
  const { replay, shrink } = values;
  if (shrink !== undefined)
    return {
      do: 'shrink',
      file: shrink,
      plan: planIn('shrink', shrink),
      tries: whole(values, 'tries', 20, 1),
      verbose,
    };
  if (replay !== undefined) return { do: 'run', plan: planIn('replay', replay), verbose };
  const minutes = whole(values, 'soak', 0, 1);
  const plan = newPlan(values);
  return minutes > 0 ? { do: 'soak', plan, minutes, verbose } : { do: 'run', plan, verbose };
}

function assertTogether(values: Values): void {
  const names = Object.keys(values) as Name[];
  for (const [chosen, others] of Object.entries(together)) {
    const extra =
      names.includes(chosen as Name) && names.find((name) => name !== chosen && !others.includes(name));
    if (extra) throw new WrongUsage(`--${extra} does not go with --${chosen}`);
  }
  if (values.tries !== undefined && values.shrink === undefined)
    throw new WrongUsage('--tries goes only with --shrink <file>');
}

/** Returns the whole number of an option. */
function whole(values: Values, name: Name, fallback: number, least: number): number {
  const text = values[name];
  if (text === undefined) return fallback;
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number) && number >= least) return number;
  throw new WrongUsage(`--${name} ${text}: use a whole number from ${least} on`);
}

/** Returns the value of an option that has few values. */
function oneOf<T extends string | number>(values: Values, name: Name, fallback: T, allowed: readonly T[]): T {
  const text = values[name];
  if (text === undefined) return fallback;
  const found = allowed.find((each) => String(each) === text);
  if (found === undefined) throw new WrongUsage(`--${name} ${text}: use ${allowed.join(' or ')}`);
  return found;
}

/** Reads the value of an option. A refusal names the option and the value. */
function read<T>(name: Name, text: string, reader: (text: string) => T): T {
  try {
    return reader(text);
  } catch (error) {
    throw new WrongUsage(`--${name} ${text}: ${error instanceof Error ? error.message : error}`);
  }
}

const planIn = (name: Name, file: string): Plan => read(name, file, readPlan);

/** Makes a new plan with the settings of the command line. */
function newPlan(values: Values): Plan {
  const redisKind = oneOf(values, 'redis', 'single', redisKinds);
  const replicas = redisKind === 'single' ? 0 : 1;
  const { visits } = values;
  const everyMs = whole(values, 'fault-every', 0, 1);
  return makePlan({
    ...defaultSettings,
    runs: whole(values, 'runs', 300, 1),
    seed: whole(values, 'seed', Math.floor(Math.random() * 1e9), 0),
    mixes: read('mix', values.mix ?? 'all', readMixes),
    ...(visits !== undefined && { visits: read('visits', visits, readVisitKinds) }),
    clients: whole(values, 'clients', defaultSettings.clients, 1),
    ...(everyMs > 0 && { everyMs }),
    longestMs: 1_000 * whole(values, 'longest-outage', defaultSettings.longestMs / 1_000, 1),
    natsServers: oneOf(values, 'nats-servers', 1, [1, 3]),
    accounts: oneOf(values, 'accounts', defaultSettings.accounts, accountForms),
    redisKind,
    waitReplicas: oneOf(values, 'wait-replicas', replicas, replicas === 0 ? [0] : [0, 1]),
  });
}
