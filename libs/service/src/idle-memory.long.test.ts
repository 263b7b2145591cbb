import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

/** Runs a process that makes garbage, and returns its memory at once and after a second, in MiB. */
async function memoryOf(work: string): Promise<{ before: number; after: number }> {
  const script = `
    import { returnIdleMemory } from ${JSON.stringify(new URL('./idle-memory.ts', import.meta.url).href)};
    let kept = [];
    for (let n = 0; n < 400_000; n += 1) kept.push({ n, text: 'x' + n });
    kept = [];
    returnIdleMemory({ idleMs: 1_000 });
    const before = process.memoryUsage.rss();
    const until = performance.now() + 2_500;
    const report = () => console.log(JSON.stringify([before, process.memoryUsage.rss()].map((bytes) => bytes / 2 ** 20)));
    ${work}
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  const [before = 0, after = 0] = JSON.parse(stdout) as number[];
  return { before, after };
}

describe('the memory of a process', () => {
  const look =
    'const look = () => (process.memoryUsage.rss() < (before - 24 * 2 ** 20) || performance.now() > until + 20_000 ? report() : setTimeout(look, 1_500)); look();';

  it('goes back to the system when the process has no work', async () => {
    const { before, after } = await memoryOf(look);
    expect(after).toBeLessThan(before - 24);
  }, 40_000);

  it('goes back while the process only gives signs of life', async () => {
    const signs =
      'setInterval(() => { const end = performance.now() + 1; while (performance.now() < end); }, 20).unref();';
    const { before, after } = await memoryOf(`${signs} ${look}`);
    expect(after).toBeLessThan(before - 24);
  }, 40_000);

  it('stays while the process works', async () => {
    const work =
      'const turn = () => { const end = performance.now() + 20; while (performance.now() < end); performance.now() < until ? setTimeout(turn, 5) : report(); }; turn();';
    const { before, after } = await memoryOf(work);
    expect(after).toBeGreaterThan(before - 24);
  }, 40_000);
});
