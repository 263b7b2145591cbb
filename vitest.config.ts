import { defineConfig } from 'vitest/config';
import { TimesReporter } from './test/tiers/times-reporter.ts';

/** Tests without servers that take more than a second. */
const slow = '**/*.slow.test.ts';
/** Tests of `npm run test:long` alone: they kill servers, wait for real time-outs, or start dozens of processes. */
const long = '**/*.long.test.ts';
const packages = 'test/packages/**/*.test.ts';
const simulation = 'test/sim/**/!(*.int|*.long).test.ts';
/** Tests of the repository itself, which need no server. */
const ofRepository = 'test/{architecture,rooms,docs,tiers/times}.test.ts';
const never = ['**/node_modules/**'];
const limits = { testTimeout: 60_000, hookTimeout: 60_000 };

export default defineConfig({
  test: {
    // Tests with servers wait half of their time. Vitest would take one worker on a machine with two cores.
    maxWorkers: 3,
    reporters: [new TimesReporter(), 'default'],
    projects: [
      {
        test: {
          name: 'unit',
          // Half of the time went into loading the same modules for each file; no unit test leaves anything behind in them.
          isolate: false,
          include: ['libs/**/*.test.ts', 'services/**/*.test.ts', 'deploy/**/*.test.ts', ofRepository],
          exclude: [...never, '**/*.int.test.ts', slow, long],
        },
      },
      { test: { name: 'slow', isolate: false, include: [slow], exclude: never, ...limits } },
      {
        test: {
          // The simulation replaces the clocks and timers of its process.
          name: 'simulation',
          pool: 'forks',
          include: [simulation],
          exclude: never,
          testTimeout: 300_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['**/*.int.test.ts', 'test/**/*.test.ts'],
          exclude: [...never, slow, long, simulation, ofRepository],
          ...limits,
        },
      },
      {
        test: {
          name: 'long',
          include: [long],
          exclude: [...never, packages],
          ...limits,
        },
      },
      {
        test: {
          name: 'packages',
          include: [packages],
          exclude: never,
          // One build and one registry for all files.
          globalSetup: 'test/packages/publish.setup.ts',
          ...limits,
        },
      },
    ],
  },
});
