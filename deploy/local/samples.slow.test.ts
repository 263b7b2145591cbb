import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

/** Makes the process fail that imports a package of the name. */
const hook = (name: string) => `
  import { registerHooks } from 'node:module';
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier.startsWith('${name}')) throw new Error(context.parentURL + ' imports ' + specifier);
      return next(specifier, context);
    },
  });`;

const load = (forbidden: string) =>
  promisify(execFile)(process.execPath, [
    `--import=data:text/javascript,${encodeURIComponent(hook(forbidden))}`,
    join(import.meta.dirname, 'samples.ts'),
  ]);

it('loads in the image of the provisioning step, which has no libs/testing', async () => {
  await load('@agentmesh/testing');
  await expect(load('@agentmesh/mesh')).rejects.toThrow('imports @agentmesh/mesh');
}, 60_000);
