import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { jsonOf, linesOf } from '../commands.fixture.ts';

it('prints the lines of all services in the order of time', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'agentmesh-logs-'));
  onTestFinished(() => rm(cwd, { recursive: true }));
  await expect(linesOf({ env: {}, cwd }, ['logs'])).rejects.toThrow('has no logs; start agentmesh dev');
  const folder = join(cwd, '.agentmesh/logs');
  await mkdir(folder, { recursive: true });
  const line = (service: string, second: number, level = 'info') =>
    JSON.stringify({
      level,
      time: `2026-01-01T10:00:0${second}.000Z`,
      service,
      replica: 'r',
      msg: 'done',
      invocationId: `e-${second}`,
    });
  await writeFile(join(folder, 'one.log'), [line('one', 1), line('one', 4), 'TypeError: oh'].join('\n'));
  await writeFile(
    join(folder, 'two.log'),
    [line('two', 2, 'debug'), line('two', 3, 'error'), line('two', 5)].join('\n'),
  );
  const place = { env: {}, cwd };
  expect(await linesOf(place, ['logs'])).toEqual([
    '10:00:01.000 INFO  one: done invocationId=e-1',
    '10:00:03.000 ERROR two: done invocationId=e-3',
    '10:00:04.000 INFO  one: done invocationId=e-4',
    'one: TypeError: oh',
    '10:00:05.000 INFO  two: done invocationId=e-5',
  ]);
  expect(await linesOf(place, ['logs', 'two', '--level', 'debug', '--lines', '2'])).toHaveLength(2);
  expect(await linesOf(place, ['logs', '--invocation', 'e-2'])).toEqual(['there are none']);
  expect(await jsonOf(place, ['logs', '--invocation', 'e-3'])).toMatchObject([
    [{ service: 'two', level: 'error' }],
  ]);
  await expect(linesOf(place, ['logs', '--lines', 'all'])).rejects.toThrow('--lines must be a number');
});
