import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificate } from '@agentmesh/testing';
import { type Server, startNats } from '@agentmesh/testing/servers';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { echo, expectCode, resultOf } from '../conformance/expect.ts';
import { connectNats } from './connect-nats.ts';
import type { NatsTls } from './wire/tls.ts';

const folder = () => mkdtempSync(join(tmpdir(), 'agentmesh-tls-'));

describe('NATS with TLS that asks for certificates', () => {
  const dir = folder();
  const strangerDir = folder();
  let server: Server;
  let own: Required<NatsTls>;
  let stranger: Required<NatsTls>;
  beforeAll(async () => {
    own = filesOf(dir);
    stranger = filesOf(strangerDir);
    server = await startNats({ configuration: tlsOf(own) });
  });
  afterAll(async () => {
    await server.stop();
    for (const each of [dir, strangerDir]) rmSync(each, { recursive: true });
  });
  const connect = async (tls: NatsTls | undefined, { host = 'localhost', scheme = 'tls' } = {}) => {
    const bus = await connectNats({
      url: `${scheme}://${host}:${server.port}`,
      service: 's',
      connectTimeoutMs: 1_000,
      cards: false,
      tls,
    });
    onTestFinished(() => bus[Symbol.asyncDispose]());
    return bus;
  };

  it('serves a process with a certificate that the server trusts', async () => {
    const [service, caller] = [await connect(own), await connect(own)];
    await service.serve('mesh.x', echo);
    expect(await resultOf(caller.request('mesh.x', { n: 1 }))).toMatchObject({ n: 1 });
  });

  it.each([
    ['without an authority for the server', () => ({ ...own, caFile: undefined }), /self-signed/],
    ['with another authority', () => ({ ...own, caFile: stranger.caFile }), /self-signed/],
    ['without a certificate', () => ({ caFile: own.caFile }), /refuses the certificate/],
    [
      'with a certificate of somebody else',
      () => ({ ...stranger, caFile: own.caFile }),
      /refuses the certificate/,
    ],
    ['with the key of another certificate', () => ({ ...own, keyFile: stranger.keyFile }), /mismatch/],
  ])('refuses a process %s', async (_, tls, words) => {
    await expectCode(connect(tls()), 'unavailable', words);
  });

  it('refuses options that do not go together', async () => {
    await expectCode(connect(own, { scheme: 'nats' }), 'invalid_argument', /tls:\/\//);
    await expectCode(connect(own, { host: '127.0.0.1' }), 'invalid_argument', /host name/);
    await expectCode(connect(own, { host: '[::1]' }), 'invalid_argument', /host name/);
    await expectCode(connect(own, { host: '127.0.0.1', scheme: 'TLS' }), 'invalid_argument', /host name/);
    await expectCode(connect({ certFile: own.certFile }), 'invalid_argument', /key/);
    await expectCode(connect({ caFile: join(dir, 'no.pem') }), 'invalid_argument', /no\.pem/);
    const mixed = { url: 'tls://localhost:1,nats://localhost:2', service: 's', cards: false };
    await expectCode(connectNats(mixed), 'invalid_argument', /all addresses/);
  });

  it('takes a new certificate for its next connection', async () => {
    const place = folder();
    onTestFinished(() => rmSync(place, { recursive: true }));
    const tls = { caFile: own.caFile, certFile: join(place, 'c.pem'), keyFile: join(place, 'k.pem') };
    copyFileSync(stranger.certFile, tls.certFile);
    copyFileSync(stranger.keyFile, tls.keyFile);
    await expectCode(connect(tls), 'unavailable', /refuses the certificate/);
    copyFileSync(own.certFile, tls.certFile);
    copyFileSync(own.keyFile, tls.keyFile);
    expect((await connect(tls)).status().connected).toBe(true);
  });
});

it('an address with tls:// refuses a server without TLS', async () => {
  const dir = folder();
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const { caFile } = filesOf(dir);
  await using server = await startNats();
  const options = {
    url: `tls://localhost:${server.port}`,
    service: 's',
    connectTimeoutMs: 500,
    cards: false,
  };
  await expectCode(connectNats({ ...options, tls: { caFile } }), 'unavailable', /does not support 'tls'/);
});

function filesOf(dir: string): Required<NatsTls> {
  const { certFile, keyFile } = makeCertificate(dir);
  return { caFile: certFile, certFile, keyFile };
}

function tlsOf({ caFile, certFile, keyFile }: Required<NatsTls>): string {
  return `tls { cert_file: "${certFile}", key_file: "${keyFile}", ca_file: "${caFile}", verify: true }`;
}
