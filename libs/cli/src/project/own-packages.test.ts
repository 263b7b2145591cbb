import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ownPackages } from './own-packages.ts';

it('installs a new project from the tarballs from which the command was installed', async () => {
  const root = await mkdtemp(join(tmpdir(), 'agentmesh-tarballs-'));
  onTestFinished(() => rm(root, { recursive: true }));
  const modules = join(root, 'node_modules');
  expect(ownPackages(modules)).toEqual({ agentmesh: expect.stringMatching(/^\d/) });
  await mkdir(modules);
  const packages = {
    'node_modules/agentmesh': { resolved: 'file:release/agentmesh-0.1.0.tgz' },
    'node_modules/@agentmesh/bus': { resolved: 'file:../bus.tgz' },
    'node_modules/@agentmesh/linked': { resolved: 'libs/linked', link: true },
    'node_modules/@agentmesh/public': { resolved: 'https://packages.test/public.tgz' },
    'node_modules/zod': { resolved: 'file:zod.tgz' },
  };
  await writeFile(join(modules, '.package-lock.json'), JSON.stringify({ packages }));
  expect(ownPackages(modules)).toEqual({
    agentmesh: `file:${root}/release/agentmesh-0.1.0.tgz`,
    '@agentmesh/bus': `file:${join(root, '../bus.tgz')}`,
  });
});
