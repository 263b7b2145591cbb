import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { install } from '../world/patches.ts';
import { randomProgram } from './program.ts';
import { onTwin } from './twin-nats.ts';

install();
const folder = join(import.meta.dirname, 'nats');

describe.each(readdirSync(folder))('nats-server %s', (file) => {
  const recordings: Record<string, unknown[]> = JSON.parse(readFileSync(join(folder, file), 'utf8'));

  it.each(Object.entries(recordings))(
    'shows in program %s what the simulated one shows',
    async (seed, shown) => {
      const program = randomProgram(Number(seed));
      const ours = await onTwin(program);
      // Each step beside what it has shown, so that a difference names its step.
      const steps = (all: unknown[]) =>
        all.map((each, at) => `${JSON.stringify(program[at] ?? 'rest')}: ${JSON.stringify(each)}`);
      expect(steps(ours)).toEqual(steps(shown));
    },
  );
});
