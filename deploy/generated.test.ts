import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { deployFolder } from './checks/manifests.ts';
import { deployedServices } from './checks/services.ts';
import { generatedFiles } from './generated.ts';

it('services exist for exactly the packages below services', () => {
  // These are the folders that pnpm-workspace.yaml names.
  const root = join(deployFolder, '..');
  const packages = ['services', 'services/agents', 'services/tools']
    .flatMap((parent) => readdirSync(join(root, parent)).map((name) => `${parent}/${name}`))
    .filter((folder) => existsSync(join(root, folder, 'package.json')));
  expect(packages.sort()).toEqual(deployedServices.map(({ folder }) => folder).sort());
});

it.each([...generatedFiles()])(
  'deploy/%s is what the definitions say; npm run generate writes it',
  (file, text) => {
    expect(readFileSync(join(deployFolder, file), 'utf8')).toBe(text);
  },
);
