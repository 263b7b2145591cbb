import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { spawnGuarded } from '@agentmesh/testing';
import { expect, it } from 'vitest';

it('keeps all rules under all kinds of faults', async () => {
  const words = ['--runs', '300', '--mix', 'all', '--seed', '4'];
  const child = spawnGuarded([process.execPath, 'main.ts', ...words], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (!child.stdout) throw new Error('the run has no output');
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  expect(code, printed).toBe(0);
  expect(printed).toMatch(/^violations +0$/m);
  expect(Number(/^faults +(\d+)/m.exec(printed)?.[1]), printed).toBeGreaterThan(5);
}, 300_000);
