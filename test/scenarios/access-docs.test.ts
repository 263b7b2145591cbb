import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type LocalMesh, launchMesh } from '@agentmesh/deploy/launch';
import { samples } from '@agentmesh/deploy/samples';
import { provisionUser } from '@agentmesh/mesh';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { loginVariables } from '../nats-login.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/access.md'), 'utf8');
const [keyBlock = '', tokenBlock = ''] = [...page.matchAll(/```sh\n(.*?)```/gs)].map(([, text = '']) => text);

let mesh: LocalMesh;
beforeAll(async () => {
  vi.stubEnv('MESH_HTTP_AUTH', 'keys');
  mesh = await launchMesh({
    services: samples.filter(({ manifest }) => manifest.name === 'stock_agent'),
    model: 'scripted',
  });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await mesh?.[Symbol.asyncDispose]();
});

/** Runs commands of the page as the operator, with a gateway. */
async function runBlock(
  text: string,
  gatewayUrl: string,
  more: Record<string, string> = {},
): Promise<string> {
  const env = {
    ...{ PATH: process.env.PATH, NATS_URL: mesh.natsUrl, ...loginVariables(mesh.login(provisionUser)) },
    ...{ REDIS_URL: mesh.redisUrlOf(provisionUser), ...more },
  };
  const command = `agentmesh() { ${process.execPath} ${root}/libs/cli/src/main.ts "$@"; }`;
  const commands = text.replaceAll('localhost:8000', gatewayUrl);
  return (await promisify(execFile)('bash', ['-ec', `${command}\n${commands}`], { env })).stdout;
}

it('docs/access.md shows how a key is made, used and revoked', async () => {
  const lines = (await runBlock(keyBlock, mesh.gatewayUrl)).trim().split('\n');
  expect(lines).toEqual([
    expect.stringContaining('"id":"access"'),
    expect.stringContaining('GOOG stands at $182.4.'),
    expect.stringMatching(/^laptop {2}user {2}user ann {2}expires .* {2}used /),
    'key laptop is gone',
    expect.stringContaining('"code":"unauthenticated"'),
  ]);
});

it('docs/access.md shows how a token is used, with the settings of its page', async () => {
  const { publicKey, privateKey } = await generateKeyPair('RS256');
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256' }];
  const issuer = createServer((_request, response) => void response.end(JSON.stringify({ keys })));
  issuer.listen(0, '127.0.0.1');
  await once(issuer, 'listening');
  const settings = [...page.matchAll(/^(MESH_(?:HTTP_AUTH|OIDC_\w+))=(.*)$/gm)].filter(
    ([, , value]) => value !== 'proxy',
  );
  for (const [, name = '', value] of settings) vi.stubEnv(name, value);
  const jwks = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/keys`;
  vi.stubEnv('MESH_OIDC_JWKS_URL', jwks);
  const gateway = await mesh.start('gateway');
  const claims = { realm_access: { roles: ['stock_app:operator'] } };
  const token = await new SignJWT(claims)
    .setProtectedHeader({ alg: 'RS256', kid: 'one' })
    .setIssuer('https://login.example/realms/shop')
    .setAudience('agentmesh')
    .setSubject('ann')
    .setExpirationTime('1m')
    .sign(privateKey);
  const address = gateway.address ?? '';
  expect(JSON.parse(await runBlock(tokenBlock, address, { token }))).toEqual(['stock_app']);
  const others = `curl -s localhost:8000/apps/stock_app/users/eve/sessions -H "authorization: Bearer $token"`;
  expect(JSON.parse(await runBlock(others, address, { token }))).toEqual([]);
  expect(await runBlock(tokenBlock, address, { token: `${token}x` })).toContain('"code":"unauthenticated"');
  issuer.close();
});
