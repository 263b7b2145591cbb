import type { ChildProcess } from 'node:child_process';
import { type CipherGCM, createCipheriv, createDecipheriv, type DecipherGCM, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { json } from 'node:stream/consumers';
import { provision } from '@agentmesh/bus';
import { connectMesh } from '@agentmesh/mesh';
import { AsyncDisposableStack, keys } from '@agentmesh/protocol';
import { createLogger } from '@agentmesh/service';
import { connectRedisStore } from '@agentmesh/store';
import {
  latestFunctionResponses,
  type ModelScript,
  sequence,
  spawnGuarded,
  startNats,
  startRedis,
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

/** Starts a key management service that speaks the example's requests: AES-256-GCM with the context. */
async function startKeyService() {
  const master = randomBytes(32);
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    const verb = request.url?.slice(1) ?? '';
    const { text, context } = (await json(request)) as { text: string; context: string };
    asked.push(`${verb} ${request.headers.authorization} ${context}`);
    const bytes = Buffer.from(text, 'base64');
    const nonce = verb === 'encrypt' ? randomBytes(12) : bytes.subarray(0, 12);
    const direction = verb === 'encrypt' ? createCipheriv : createDecipheriv;
    const cipher = direction('aes-256-gcm', master, nonce).setAAD(Buffer.from(context));
    if (verb === 'decrypt') (cipher as DecipherGCM).setAuthTag(bytes.subarray(12, 28));
    const body = Buffer.concat([
      cipher.update(verb === 'encrypt' ? bytes : bytes.subarray(28)),
      cipher.final(),
    ]);
    const tag = verb === 'encrypt' ? [nonce, (cipher as CipherGCM).getAuthTag()] : [];
    response.end(JSON.stringify({ text: Buffer.concat([...tag, body]).toString('base64') }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, asked, close: () => server.close() };
}

it('key-service.ts', async () => {
  await using owners = new AsyncDisposableStack();
  const [nats, redis, service] = await Promise.all([startNats(), startRedis(), startKeyService()]);
  owners.defer(() => Promise.all([nats.stop(), redis.stop(), service.close()]).then(() => {}));
  const at = { natsUrl: nats.url, redisUrl: redis.url };
  await (await connectRedisStore({ url: redis.url }))[Symbol.asyncDispose]();
  await provision({ url: nats.url, agents: [], tools: [], storage: 'memory' });
  const child = spawnGuarded([process.execPath, join(folder, 'key-service.ts')], {
    cwd: root,
    env: {
      ...process.env,
      NATS_URL: nats.url,
      REDIS_URL: redis.url,
      KMS_URL: service.url,
      KMS_TOKEN: 'token',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  owners.defer(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  });
  const log = createLogger({ service: 'test', replica: 'test', level: 'silent', format: 'json' });
  const tool = owners.use(await connectMesh({ service: 'tool_maps', ...at, log, cards: false }));
  const ref = { appName: 'app', userId: 'ann', sessionId: 's', invocationId: 'e' };
  await tool.sessions.createSession(ref);
  await tool.sessions.leases.take(ref, { run: '', whenBusy: 'reject', agent: 'root' });
  await tool.sessions.invocations.noteCall(ref, { id: 'c', tool: 'maps' });
  const owner = { appName: 'app', userId: 'ann', homeSessionId: 's' };
  const config = { credentialKey: 'maps', authScheme: { type: 'apiKey' } } as const;
  const exchangedAuthCredential = { authType: 'apiKey', apiKey: 'SECRET' } as const;
  const { credentialService } = tool.credentials ?? expect.fail();
  await credentialService.saveCredential({ ...config, exchangedAuthCredential }, owner);
  for (let n = 0; n < 3; n += 1)
    expect(await credentialService.loadCredential(config, owner)).toEqual(exchangedAuthCredential);
  const [ofKeepers, ofAnn] = [keys().keeperKey, keys().dataKey('app', 'ann')];
  expect(service.asked).toEqual(
    [ofKeepers, ofAnn].flatMap((place) => [`encrypt Bearer token ${place}`, `decrypt Bearer token ${place}`]),
  );
}, 60_000);

it('the page shows all examples with their output; node test/write-docs.ts updates it', () => {
  const text = readFileSync(join(root, page), 'utf8');
  const files = readdirSync(join(root, folder)).filter((name) => name.endsWith('.ts'));
  expect(examplesOf(text).map((name) => `${name}.ts`)).toEqual(expect.arrayContaining(files));
  expect(text).toBe(withExamples(text, folder));
});
