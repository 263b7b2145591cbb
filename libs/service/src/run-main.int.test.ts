import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const index = fileURLToPath(new URL('./index.ts', import.meta.url));

function runMain(start: string, env: NodeJS.ProcessEnv) {
  const source = `import { runMain } from ${JSON.stringify(index)};
    await runMain({ name: 'gateway', start: ${start} });`;
  return spawnSync(process.execPath, ['--input-type=module', '--eval', source], { env, encoding: 'utf8' });
}

it('exits 1 with one line on stderr when the configuration is wrong', () => {
  const { status, stdout, stderr } = runMain('async () => {}', { MESH_LOG_LEVEL: 'loud', MESH_NATS_PW: 'x' });
  expect(status).toBe(1);
  expect(stdout).toBe('');
  expect(stderr).toMatch(/^gateway could not start: invalid_argument: .*MESH_LOG_LEVEL.*MESH_NATS_PW.*\n$/);
});

it('starts the service with its configuration, a logger and the name of the replica', () => {
  const start = `async (config, { log, replica }) => {
    log.info({ namespace: config.namespace, same: log.bindings().replica === replica, config }, 'told');
    setImmediate(() => process.kill(process.pid, 'SIGTERM'));
    return { async [Symbol.asyncDispose]() {} };
  }`;
  const { status, stdout } = runMain(start, { MESH_NAMESPACE: 'prod', REDIS_URL: 'redis://:hunter2@r:1' });
  expect(status).toBe(0);
  expect(stdout).toContain('"namespace":"prod","same":true');
  expect(stdout).not.toContain('hunter2');
});
