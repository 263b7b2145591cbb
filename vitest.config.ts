import { defineConfig } from 'vitest/config';

const integration = ['**/*.int.test.ts', 'test/**/*.test.ts'];
const packages = 'test/packages/**/*.test.ts';
const never = ['**/node_modules/**'];

export default defineConfig({
  test: {
    // Most tests wait more than they work. Vitest would take one worker on a machine with two cores.
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'unit',
          // Half of the time went into loading the same modules for each file; no unit test leaves anything behind in them.
          isolate: false,
          include: [
            'libs/**/*.test.ts',
            'services/**/*.test.ts',
            'deploy/**/*.test.ts',
            'test/{architecture,rooms}.test.ts',
            'test/docs.test.ts',
          ],
          exclude: [...never, '**/*.int.test.ts'],
        },
      },
      {
        test: {
          name: 'integration',
          include: integration,
          exclude: [...never, 'test/{architecture,rooms}.test.ts', 'test/docs.test.ts', packages],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'packages',
          include: [packages],
          exclude: never,
          // One build and one registry for all files.
          globalSetup: 'test/packages/publish.setup.ts',
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
