import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import {
  latestFunctionResponses,
  type ModelScript,
  sequence,
  spawnGuarded,
  startScriptedGemini,
} from '@agentmesh/testing';
import { type SignInServer, startSignInServer } from '@agentmesh/testing/sign-in-server';
import { expect, it } from 'vitest';
import { examplePages, examplesOf, withExamples } from '../example-page.ts';

const root = join(import.meta.dirname, '../..');
const page = 'docs/credentials.md';
const folder = examplePages[page];

/** Runs an example as a reader does, signs in when the example asks, and returns the output. */
async function run(name: string, script: ModelScript, auth: SignInServer): Promise<string> {
  const model = await startScriptedGemini({ script });
  const child = spawnGuarded([process.execPath, join(folder, `${name}.ts`)], {
    cwd: root,
    env: {
      ...process.env,
      GEMINI_API_KEY: 'scripted',
      GOOGLE_GEMINI_BASE_URL: model.url,
      AUTH_URL: auth.url,
      CLIENT_ID: auth.clientId,
      CLIENT_SECRET: auth.clientSecret,
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [lines, [code]] = await Promise.all([readAndSignIn(child, auth), once(child, 'exit')]);
  await model.close();
  expect(code).toBe(0);
  return lines.map((line) => line.replace(/http:\S+/, (url) => `${url.split('?')[0]}?…`)).join('\n');
}

async function readAndSignIn(child: ChildProcess, auth: SignInServer): Promise<string[]> {
  if (!child.stdout || !child.stdin) throw new Error('no input or output');
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    const [, authUri] = /^Sign in at (\S+)$/.exec(line) ?? [];
    if (authUri !== undefined) child.stdin.write(`${await auth.signIn(authUri)}\n`);
  }
  return lines;
}

const expected = (name: string) => join(root, folder, `${name}.txt`);

it('sign-in.ts', async () => {
  const auth = await startSignInServer();
  const script: ModelScript = (request) => {
    const [result] = latestFunctionResponses(request);
    return result
      ? { text: `You are ${result.response?.sub}.` }
      : { calls: [{ name: 'who_am_i', args: {} }] };
  };
  const output = await run('sign-in', script, auth);
  expect(auth.tokenRequests).toHaveLength(1);
  await expect(`${output.replaceAll(auth.url, 'https://auth.example')}\n`).toMatchFileSnapshot(
    expected('sign-in'),
  );
  await auth.close();
});

it('api-key.ts', async () => {
  const auth = await startSignInServer();
  const call = { calls: [{ name: 'route', args: {} }] };
  const script = sequence(call, { text: 'Three kilometres.' }, call, { text: 'The same.' });
  await expect(`${await run('api-key', script, auth)}\n`).toMatchFileSnapshot(expected('api-key'));
  await auth.close();
});

it('the page shows all examples with their output; node test/write-docs.ts updates it', () => {
  const text = readFileSync(join(root, page), 'utf8');
  const files = readdirSync(join(root, folder)).filter((name) => name.endsWith('.ts'));
  expect(examplesOf(text).map((name) => `${name}.ts`)).toEqual(expect.arrayContaining(files));
  expect(text).toBe(withExamples(text, folder));
});
