import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectNats } from '@agentmesh/bus';
import { startNats, startRedis } from '@agentmesh/testing/servers';
import { afterAll, expect, it } from 'vitest';
import { linesOf } from '../commands.fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'agentmesh-provision-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'definitions.json');
writeFileSync(
  file,
  '[{ "kind": "agent", "name": "desk", "app": "shop" }, { "kind": "tool", "name": "rate" }]',
);

const users = ['provision', 'gateway', 'agent_desk', 'tool_rate'];

const passwords = Object.fromEntries(
  users.map((user) => [`REDIS_PASSWORD_${user.toUpperCase()}`, `secret-${user}`]),
);

async function command(words: string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  return (await linesOf({ env }, words)).join('\n');
}

it('provisions servers that know only the users that the rights commands print', async () => {
  await expect(command(['rights', 'redis', file])).rejects.toThrow(
    `set the passwords of the users: ${users.map((user) => `REDIS_PASSWORD_${user.toUpperCase()}`).join(', ')}`,
  );
  const acl = await command(['rights', 'redis', file], passwords);
  const configuration = await command(['rights', 'nats', file]);
  expect(configuration).toContain('password: $NATS_PASSWORD_TOOL_RATE');
  await using nats = await startNats({
    configuration: configuration.replace(/\$NATS_(PASSWORD_\w+)/g, '"$1"'),
  });
  await using redis = await startRedis({ password: 'admin', users: acl.replace(/^user default .*\n/, '') });
  const asUser = (user: string, storage = 'memory') => ({
    MESH_STREAM_STORAGE: storage,
    NATS_URL: nats.url,
    MESH_NATS_USER: user,
    MESH_NATS_PASSWORD: `PASSWORD_${user.toUpperCase()}`,
    REDIS_URL: `redis://${user}:secret-${user}@${redis.host}:${redis.port}`,
  });
  await expect(command(['provision', file], asUser('agent_desk'))).rejects.toThrow('may not');
  expect(await command(['provision', file], asUser('provision'))).toBe('provisioned: agent desk, tool rate');
  const { MESH_NATS_USER: user, MESH_NATS_PASSWORD: pass } = asUser('agent_desk');
  await using bus = await connectNats({ url: nats.url, user, pass, service: user });
  const runs = await bus.consumeRuns('desk', async () => ({ done: true }), { maxConcurrency: 1 });
  await runs.stop();
  await expect(command(['provision', file], asUser('provision', 'disk'))).rejects.toThrow(
    'MESH_STREAM_STORAGE',
  );
});

it('asks for the definitions', async () => {
  await expect(command(['provision'])).rejects.toThrow(/definitions/);
});
