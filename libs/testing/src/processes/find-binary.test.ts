import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { binaryProblem, requireBinary } from './find-binary.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agentmesh-binary-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** Makes a nats-server that prints a version. */
function serverOf(version: string): string {
  const path = join(folder, `nats-server-${version}`);
  writeFileSync(path, `#!/bin/sh\necho nats-server: v${version}\n`);
  chmodSync(path, 0o755);
  vi.stubEnv('MESH_NATS_BIN', path);
  return path;
}

it.each(['2.10.0', '2.15.1', '3.0.0'])('takes nats-server %s', (version) => {
  const path = serverOf(version);
  expect([binaryProblem('nats-server'), requireBinary('nats-server')]).toEqual([undefined, path]);
});

it('refuses a nats-server that is too old, and says what to do', () => {
  serverOf('2.9.10');
  const problem = 'nats-server 2.9.10 is too old (2.10 is needed; MESH_NATS_BIN names another program)';
  expect(binaryProblem('nats-server')).toBe(problem);
  expect(() => requireBinary('nats-server')).toThrow(problem);
});
