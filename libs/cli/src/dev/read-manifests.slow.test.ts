import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeProject } from '../project.fixture.ts';
import { findServices } from './project.ts';
import { readManifests } from './read-manifests.ts';

it('names each definition that ends its process or never ends, and reads the others', async () => {
  await using project = await makeProject();
  const { root } = project;
  const write = async (name: string, text: string) => {
    const folder = join(root, 'agents', name);
    await mkdir(folder);
    await writeFile(join(folder, 'main.ts'), '');
    await writeFile(join(folder, 'agent.ts'), `${text}\nexport {};\n`);
  };
  await write('exits', "console.error('no key'); process.exit(3);");
  await write('waits', 'await new Promise(() => {});');
  await write('throws', "throw new Error('broken');");
  const place = { root, env: { PATH: process.env.PATH } };
  const { services, problems } = await readManifests(findServices(root), place);
  expect(services.map(({ folder }) => folder)).toEqual(['agents/helper', 'tools/get_time']);
  expect(problems).toEqual([
    `${root}/agents/exits/agent.ts cannot be read: the process ends with 3 while it is loaded\nno key`,
    `${root}/agents/throws/agent.ts cannot be read: broken`,
    `${root}/agents/waits/agent.ts cannot be read: it awaits a promise that nothing settles`,
  ]);

  await write('loops', 'for (;;);');
  const loops = findServices(root).filter(({ folder }) => folder === 'agents/loops');
  expect(await readManifests(loops, { ...place, limitMs: 1_500 })).toEqual({
    services: [],
    problems: [`${root}/agents/loops/agent.ts cannot be read: it is not loaded after 1.5 s`],
  });
}, 30_000);
