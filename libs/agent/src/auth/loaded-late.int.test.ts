import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const program = `
import { registerHooks } from 'node:module';
const urls = [];
registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });
await import(process.argv[1]);
console.log(JSON.stringify(urls.filter((url) => /(?:fetch-tokens|oauth4webapi|zod)[/.@]/.test(url))));
`;

it('an agent loads the client of authorization servers when it is needed first', async () => {
  const loadedBy = async (file: string) => {
    const url = new URL(file, import.meta.url).href;
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--input-type=module',
      '-e',
      program,
      url,
    ]);
    return stdout;
  };
  const byAgents = await loadedBy('../index.ts');
  expect(byAgents).toContain('zod');
  expect(byAgents).not.toContain('oauth4webapi');
  expect(await loadedBy('./fetch-tokens.ts')).toContain('oauth4webapi');
});
