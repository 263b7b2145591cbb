import { inspect } from 'node:util';
import { MeshError } from '@agentmesh/protocol';
import { describe, expect, it } from 'vitest';
import { describeConfig, readConfig } from './read-config.ts';
import { serviceConfig } from './service-config.ts';
import { integer, variable } from './variable.ts';

function problemsOf(read: () => unknown): unknown {
  try {
    read();
  } catch (error) {
    if (error instanceof MeshError && error.code === 'invalid_argument') return error.details?.problems;
    throw error;
  }
  return [];
}

describe('readConfig', () => {
  it('returns every default when nothing is set', () => {
    const config = readConfig(serviceConfig, {});
    expect({ ...config, redisUrl: config.redisUrl.reveal() }).toEqual({
      namespace: 'mesh',
      natsUrl: 'nats://127.0.0.1:4222',
      natsUser: undefined,
      natsPassword: undefined,
      natsCaFile: undefined,
      natsCertFile: undefined,
      natsKeyFile: undefined,
      natsCreds: undefined,
      redisUrl: 'redis://127.0.0.1:6379',
      redisPrefix: undefined,
      redisCaFile: undefined,
      redisWaitReplicas: 0,
      artifacts: 'nats',
      logLevel: 'info',
      logFormat: 'json',
      healthPort: undefined,
      healthHost: '127.0.0.1',
      metrics: 'on',
      traces: 'off',
      traceContent: '0',
      traceRedact: undefined,
      sessionCacheMb: 64,
      maxConcurrency: 16,
      graceMs: 25_000,
    });
  });

  it('counts an empty variable as unset, and 0 as a value', () => {
    expect(readConfig(serviceConfig, { MESH_HEALTH_PORT: '' }).healthPort).toBeUndefined();
    expect(readConfig(serviceConfig, { MESH_HEALTH_PORT: '0' }).healthPort).toBe(0);
    expect(readConfig(serviceConfig, { MESH_NAMESPACE: '' }).namespace).toBe('mesh');
  });

  it('reads a regular expression, and refuses one that fits everywhere', () => {
    const of = (text: string) => readConfig(serviceConfig, { MESH_TRACE_REDACT: text }).traceRedact;
    expect('of ACME and ACME'.replace(of('ACME|K-[0-9]{1,9}') ?? '', '-')).toBe('of - and -');
    expect(() => of('(')).toThrow(/MESH_TRACE_REDACT must be a regular expression/);
    expect(() => of('a*')).toThrow(/MESH_TRACE_REDACT must not fit an empty text/);
  });

  it('reads a number for each app', () => {
    const of = (text: string) => readConfig(serviceConfig, { MESH_SESSION_DAYS: text }).sessionDays;
    expect([of('30')?.('shop'), of('shop=30, *=365')?.('shop'), of('shop=30,*=365')?.('other')]).toEqual([
      30, 30, 365,
    ]);
    expect(of('shop=30')?.('other')).toBeUndefined();
    for (const wrong of ['x', '0', 'shop=', 'shop=1,shop=2', '1,2', 'shop=30;*=1'])
      expect(problemsOf(() => of(wrong))).toMatchObject([{ name: 'MESH_SESSION_DAYS' }]);
  });

  it.each(['s3://x', '/var/x', 'z', 'file://rel/x', 'file:rel', 'file:///a%2Fb'])(
    'refuses %s for artifacts and names the valid places',
    (given) => {
      const problem = `must be nats, or the address of a folder such as file:///var/lib/artifacts; it is ${JSON.stringify(given)}`;
      expect(problemsOf(() => readConfig(serviceConfig, { MESH_ARTIFACTS: given }))).toEqual([
        { name: 'MESH_ARTIFACTS', problem },
      ]);
    },
  );

  it('takes a folder for artifacts', () => {
    const { artifacts } = readConfig(serviceConfig, { MESH_ARTIFACTS: 'file:///var/lib/some%20files' });
    expect(artifacts).toBe('file:///var/lib/some%20files');
  });

  it('reports every problem together, each with its variable', () => {
    const shape = { ...serviceConfig, key: variable('MODEL_KEY', 'key', integer(1, 2), { secret: true }) };
    const env = {
      MESH_MAX_CONCURRENCY: '16.5',
      MESH_LOG_LEVEL: 'loud',
      REDIS_URL: 'http://u:hunter2@host',
      NATS_URL: 'nats://user:pw@host:4222',
      MESH_NAMESPACE: 'a.b',
      MESH_GRACE_MSS: '1',
    };
    const problems = problemsOf(() => readConfig(shape, env)) as { name: string; problem: string }[];
    expect(problems.map(({ name }) => name).sort()).toEqual([...Object.keys(env), 'MODEL_KEY'].sort());
    expect(problems.find(({ name }) => name === 'MODEL_KEY')?.problem).toBe('is required and not set');
    expect(() => readConfig(shape, env)).toThrow(
      /MESH_MAX_CONCURRENCY must be a whole number from 1 to 10000/,
    );
    expect(JSON.stringify(problems)).not.toContain('hunter2');
  });

  it.each([
    ['MESH_LOGLEVEL', 'MESH_LOG_LEVEL'],
    ['MESH_NATS_PASWORD', 'MESH_NATS_PASSWORD'],
    ['MESH_NATS_URL', 'NATS_URL'],
    ['MESH_CONCURRENCY', 'MESH_MAX_CONCURRENCY'],
  ])('takes %s for a misspelled %s', (written, meant) => {
    expect(problemsOf(() => readConfig(serviceConfig, { [written]: '1' }))).toEqual([
      { name: written, problem: `is not known; did you mean ${meant}?` },
    ]);
  });

  it('suggests nothing for a variable that resembles none', () => {
    expect(problemsOf(() => readConfig(serviceConfig, { MESH_QQQQQQQQQQQQQQQQ: '1' }))).toEqual([
      { name: 'MESH_QQQQQQQQQQQQQQQQ', problem: 'is not known; unset it' },
    ]);
  });

  it('leaves variables of others and of the repository tools alone', () => {
    expect(problemsOf(() => readConfig(serviceConfig, { PATH: '/', MESH_NATS_BIN: '/nats' }))).toEqual([]);
  });

  it.each(['http//nonsense', 'http://host', 'nats://a b', 'nats://h:4222,', 'nats://host:4222/path'])(
    'refuses %s for the address of NATS',
    (NATS_URL) =>
      expect(problemsOf(() => readConfig(serviceConfig, { NATS_URL }))).toMatchObject([{ name: 'NATS_URL' }]),
  );

  it.each(['nats://a:4222, tls://b', 'host', 'ws://[::1]:80', 'nats://10.0.0.1:4222'])(
    'takes %s for the address of NATS',
    (NATS_URL) => expect(readConfig(serviceConfig, { NATS_URL }).natsUrl).toBe(NATS_URL),
  );

  it('prints no password of an address', () => {
    for (const NATS_URL of ['nats://u:hunter2@host', 'hunter2 4222'])
      expect(JSON.stringify(problemsOf(() => readConfig(serviceConfig, { NATS_URL })))).not.toContain(
        'hunter2',
      );
  });

  it('ignores the named variables of others, and still refuses misspelled ones', () => {
    const read = (name: string) => () => readConfig(serviceConfig, { [name]: '1' }, ['MESH_HTTP_PORT']);
    expect(problemsOf(read('MESH_HTTP_PORT'))).toEqual([]);
    expect(problemsOf(read('MESH_DATA_DIR'))).toEqual([]);
    expect(problemsOf(read('MESH_HTTP_PROT'))).toHaveLength(1);
  });

  it('prints no secret, whichever way the configuration is printed', () => {
    const config = readConfig(serviceConfig, {
      MESH_NATS_PASSWORD: 'hunter2',
      REDIS_URL: 'redis://u:hunter2@host:6379',
    });
    expect(config.natsPassword?.reveal()).toBe('hunter2');
    for (const printed of [
      inspect(config, { depth: 9, showHidden: true }),
      JSON.stringify(config),
      String(config.redisUrl),
      `${config.natsPassword}`,
    ]) {
      expect(printed).not.toContain('hunter2');
      expect(printed).toContain('[redacted]');
    }
  });
});

describe('describeConfig', () => {
  it('lists name, meaning, default and secrecy of each variable', () => {
    const lines = describeConfig(serviceConfig);
    expect(lines.find(({ name }) => name === 'MESH_GRACE_MS')).toMatchObject({
      default: '25000',
      secret: false,
      required: false,
    });
    expect(lines.filter(({ secret }) => secret).map(({ name }) => name)).toEqual([
      'MESH_NATS_PASSWORD',
      'REDIS_URL',
      'CREDENTIAL_KEYS',
    ]);
    expect(lines.every(({ meaning }) => meaning.length > 10)).toBe(true);
  });
});
