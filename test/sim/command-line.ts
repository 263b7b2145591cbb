import { type Option, readOptions, usageOf, WrongUsage } from '../command-options.ts';
import { type Shard, wholeWork } from './every-crash-point.ts';
import { type OpFault, readOpFaults } from './faults/op-fault.ts';
import { type Sabotage, sabotages } from './faults/sabotages.ts';
import { type RandomPlan, randomPlan, without } from './random-history.ts';
import { scenarioOf, scenarios } from './scenarios/scenarios.ts';
import type { Search } from './work.ts';

const names = [...scenarios.keys()].join(', ');
const options = {
  crash: {
    value: '<scenarios>',
    meaning: `a death before and after every operation: all, or some of ${names}`,
  },
  side: {
    value: '<side>',
    meaning: 'with --crash: deaths on one side of each operation alone: before, or after',
  },
  pause: { value: '<scenarios>', meaning: 'a stop of eight seconds at every operation' },
  failover: { value: '<scenarios>', meaning: 'a failover of Redis that loses writes, at every operation' },
  pairs: { value: '<scenarios>', meaning: 'deaths and stops at two operations' },
  most: { value: '<n>', meaning: 'with --pairs: histories of a scenario; default 4000' },
  random: { value: '<n>', meaning: 'histories with random processes, traffic and faults' },
  hashes: { meaning: 'with --random: prints the hash of each history' },
  sabotage: { value: '<names>', meaning: `searches broken code: all, or some of ${sabotages.join(', ')}` },
  seed: { value: '<n>', meaning: 'the same seed gives the same histories; default 1' },
  one: {
    value: '<scenario>',
    meaning: 'prints one history: of a scenario, or random; --crash has its faults',
  },
  omit: { value: '<parts>', meaning: 'with --one random: the parts of the history that are left out' },
  workers: { value: '<n>', meaning: 'processes that share the work; default one for each core' },
  shard: { value: '<i/n>', meaning: 'does a part of the work, and tells the results to its parent' },
  help: { meaning: 'prints this text' },
} satisfies Record<string, Option>;

type Name = keyof typeof options;
type Values = Partial<Record<Name, string>>;

/** One history that is repeated. */
export type One = RandomPlan;

/** The work that a command line asks for. */
export type Work =
  | { do: 'help'; text: string }
  | { do: 'one'; plan: One }
  | { do: 'search'; search: Search; hashes: boolean; workers?: number; shard?: Shard };

/** A death comes right before an operation, or right after it, when its effect is there and its reply is lost. */
const sides = ['before', 'after'] as const;
type Side = (typeof sides)[number];

/** The options of which a command line has one. */
const kinds = ['one', 'crash', 'pause', 'failover', 'pairs', 'random', 'sabotage'] as const;

/** Reads a command line. @throws WrongUsage */
export function readCommandLine(args: readonly string[]): Work {
  const values = readOptions(options, args);
  if (values.help !== undefined) return { do: 'help', text: usageOf('simulate', options) };
  const chosen = kinds.filter((kind) => values[kind] !== undefined);
  if (values.one !== undefined) return { do: 'one', plan: readOne(values, values.one) };
  if (chosen.length !== 1)
    throw new WrongUsage(`use one of ${kinds.map((kind) => `--${kind}`).join(', ')}; --help explains them`);
  return {
    ...{ do: 'search', search: readSearch(values), hashes: values.hashes !== undefined },
    ...(values.workers !== undefined && { workers: whole(values, 'workers', 1) }),
    ...(values.shard !== undefined && { shard: readShard(values.shard) }),
  };
}

function readSearch(values: Values): Search {
  const seed = String(whole(values, 'seed', 0, 1));
  const { crash, side, pause, failover, pairs, sabotage } = values;
  if (crash !== undefined) {
    const kinds = side === undefined ? sides : [read('side', side, readSide)];
    return { do: 'points', seed, kinds, scenarios: read('crash', crash, readScenarios) };
  }
  if (pause !== undefined)
    return { do: 'points', seed, kinds: ['pause'], scenarios: read('pause', pause, readScenarios) };
  if (failover !== undefined)
    return { do: 'points', seed, kinds: ['failover'], scenarios: read('failover', failover, readScenarios) };
  if (sabotage !== undefined)
    return { do: 'sabotages', seed, names: read('sabotage', sabotage, readSabotages) };
  if (pairs === undefined) return { do: 'random', seed, count: whole(values, 'random', 1) };
  return {
    ...{ do: 'pairs', seed, scenarios: read('pairs', pairs, readScenarios) },
    ...(values.most !== undefined && { most: whole(values, 'most', 1) }),
  };
}

function readOne(values: Values, name: string): One {
  const seed = String(whole(values, 'seed', 0, 1));
  const { crash, sabotage, omit } = values;
  const ops: OpFault[] = crash === undefined ? [] : read('crash', crash, readOpFaults);
  const plan =
    name === 'random' ? randomPlan(seed) : { seed, scenario: read('one', name, scenarioOf), faults: {} };
  const [broken] = sabotage === undefined ? [] : read('sabotage', sabotage, readSabotages);
  const { scenario, faults } = omit === undefined ? plan : without(plan, omit.split(','));
  return { seed, scenario, faults: { ...faults, ops, ...(broken && { sabotage: broken }) } };
}

const readScenarios = (text: string) =>
  text === 'all' ? [...scenarios.values()] : text.split(',').map(scenarioOf);

function readSide(text: string): Side {
  const found = sides.find((side) => side === text);
  if (!found) throw new Error(`use ${sides.join(' or ')}`);
  return found;
}

function readSabotages(text: string): readonly Sabotage[] {
  if (text === 'all') return sabotages;
  return text.split(',').map((name) => {
    const found = sabotages.find((each) => each === name);
    if (!found)
      throw new Error(`there is no sabotage "${name}"; use all, or some of: ${sabotages.join(', ')}`);
    return found;
  });
}

function readShard(text: string): Shard {
  const [index = 0, count = wholeWork.count] = text.split('/').map(Number);
  return { index, count };
}

/** Returns the whole number of an option. */
function whole(values: Values, name: Name, least: number, fallback = least): number {
  const text = values[name];
  if (text === undefined) return fallback;
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number) && number >= least) return number;
  throw new WrongUsage(`--${name} ${text}: use a whole number from ${least} on`);
}

/** Reads the value of an option. A refusal names the option. */
function read<T>(name: Name, text: string, reader: (text: string) => T): T {
  try {
    return reader(text);
  } catch (error) {
    throw new WrongUsage(`--${name} ${text}: ${error instanceof Error ? error.message : error}`);
  }
}
