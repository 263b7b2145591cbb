import { expect, it, vi } from 'vitest';
import { superviseStarts } from './supervise.ts';

it('starts a dead program again, each time after a longer pause, until it is stopped', async () => {
  const words: string[] = [];
  const stop = new AbortController();
  const start = vi.fn(async () => {
    if (start.mock.calls.length === 1) throw new Error('no port\nmore');
  });
  const say = (text: string) => void words.push(text);
  const restart = superviseStarts({ name: 'x', start, say, signal: stop.signal, pauseMs: 1, maxPauseMs: 4 });
  await restart('x ended: SIGKILL');
  await restart('x ended: SIGKILL');
  await restart('x ended: SIGKILL');
  expect(words).toEqual([
    'x ended: SIGKILL; it is started again in 0.001 s',
    'x could not start: no port; it is started again in 0.002 s',
    'x runs again',
    'x ended: SIGKILL; it is started again in 0.004 s',
    'x runs again',
    'x ended: SIGKILL; it is started again in 0.004 s',
    'x runs again',
  ]);
  stop.abort();
  await restart('x ended: SIGTERM');
  expect(start).toHaveBeenCalledTimes(4);
});

it('begins with the first pause again after a long life', async () => {
  const words: string[] = [];
  const say = (text: string) => void words.push(text);
  const { signal } = new AbortController();
  const options = { name: 'x', start: async () => {}, say, signal, pauseMs: 1, healthyMs: -1 };
  const restart = superviseStarts(options);
  await restart('x ended: SIGKILL');
  await restart('x ended: SIGKILL');
  expect(words.filter((line) => line.includes('0.001 s'))).toHaveLength(2);
});
