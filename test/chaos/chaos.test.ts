import { once } from 'node:events';
import { endProcess, spawnGuarded } from '@agentmesh/testing';
import { expect, it } from 'vitest';

/**
 * The longest time of the run, in ms: it takes half a minute on two cores without other work, two beside other tests, and
 * itself reports a client that waited for 150 s and work that did not end 45 s later.
 */
const longestMs = 460_000;

it('keeps all rules under all kinds of faults', async () => {
  const words = ['--verbose', '--runs', '60', '--mix', 'all', '--seed', '4'];
  const child = spawnGuarded([process.execPath, 'main.ts', ...words], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
    printed += piece;
  });
  const late = setTimeout(() => void endProcess(child, 'SIGTERM', 10_000), longestMs);
  const [code] = await once(child, 'close');
  clearTimeout(late);
  // The last lines tell why a run broke a rule or did not end.
  const end = printed.split('\n').slice(-150).join('\n');
  expect(code, end).toBe(0);
  expect(end).toMatch(/^violations +0$/m);
  expect(Number(/^faults +(\d+)/m.exec(end)?.[1]), end).toBeGreaterThan(5);
}, 480_000);
