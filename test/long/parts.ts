/** A part of the long tests: programs of Node, one after the other. */
export interface Part {
  name: string;
  meaning: string;
  /** The arguments of Node, for each program. */
  programs: string[][];
  env?: Record<string, string>;
}

const vitest = (...args: string[]) => ['node_modules/vitest/vitest.mjs', 'run', ...args];
const longTier = { MESH_TEST_TIER: 'long' };

/** All parts, in the order in which they run. */
export const parts: readonly Part[] = [
  {
    name: 'simulation',
    meaning: 'every crash point, pairs of faults, and 10,000 random histories',
    programs: [
      ['test/sim/main.ts', '--crash', 'all'],
      ['test/sim/main.ts', '--pairs', 'all'],
      ['test/sim/main.ts', '--random', '10000'],
    ],
  },
  {
    name: 'files',
    meaning: 'the long test files, and every kind of server and form of accounts in the others',
    programs: [vitest('--project', 'long'), vitest('--project', 'integration')],
    env: longTier,
  },
  {
    name: 'accounts',
    meaning: 'the scenarios with accounts as JWTs',
    programs: [vitest('--project', 'integration', 'test/scenarios')],
    env: { MESH_TEST_ACCOUNTS: 'jwt' },
  },
  {
    name: 'packages',
    meaning: 'the published packages, the tutorial and the move from ADK, on each Node and SDK',
    programs: [vitest('--project', 'packages')],
  },
  {
    name: 'fuzz',
    meaning: '100,000 random requests to a gateway',
    programs: [['test/security/fuzz/main.ts', '100000']],
  },
  {
    name: 'drill',
    meaning: 'ten incidents, found as an operator finds them; needs root, a C compiler and Prometheus',
    programs: [['test/drill/main.ts']],
  },
  {
    name: 'chaos',
    meaning: '2,000 runs with real servers under all faults, in both forms of accounts',
    programs: [
      ['test/chaos/main.ts', '--runs', '2000', '--accounts', 'jwt'],
      ['test/chaos/main.ts', '--runs', '2000', '--accounts', 'file'],
    ],
  },
  {
    name: 'soak',
    meaning: 'half an hour of all traffic, with the growth of memory',
    programs: [['test/bench/soak/main.ts']],
  },
];

/** Returns the part for one pair of server programs: what uses servers, and a short chaos run. */
export function serversPart(nats: string, redis: string, names: string): Part {
  return {
    name: names,
    meaning: `what uses servers, with ${names}`,
    programs: [
      vitest(
        '--project',
        'integration',
        'libs/bus',
        'libs/store',
        'libs/testing',
        'libs/cli',
        'test/scenarios',
      ),
      vitest('--project', 'long', 'libs/bus', 'libs/store', 'test/scenarios'),
      ['test/chaos/main.ts', '--runs', '200', '--seed', '42'],
    ],
    env: { MESH_NATS_BIN: nats, MESH_REDIS_BIN: redis },
  };
}

/** Returns the part that runs one test file as the long tests do. */
export function filePart(file: string): Part {
  const projects = ['long', 'packages', 'integration'].flatMap((name) => ['--project', name]);
  return { name: file, meaning: 'one file', programs: [vitest(...projects, file)], env: longTier };
}
