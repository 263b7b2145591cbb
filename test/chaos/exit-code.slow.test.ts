import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { spawnGuarded } from '@agentmesh/testing';
import { expect, it } from 'vitest';

it.each([
  ['a server cannot be used', ['--runs', '1'], 'is too old'],
  ['an option is unknown', ['--nonsense'], 'nonsense'],
])(
  'says by its exit code that nothing was judged, when %s',
  async (_, words, reason) => {
    const child = spawnGuarded([process.execPath, 'main.ts', ...words], {
      cwd: import.meta.dirname,
      env: { ...process.env, MESH_TEST_SERVERS: 'local', MESH_NATS_BIN: '/bin/false' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [[code], said] = await Promise.all([once(child, 'close'), child.stderr && text(child.stderr)]);
    expect(said).toContain(reason);
    expect(code).toBe(2);
  },
  60_000,
);
