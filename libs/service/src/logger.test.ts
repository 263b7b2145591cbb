import { MeshError } from '@agentmesh/protocol';
import { expect, it } from 'vitest';
import { createLogger, type LoggerOptions } from './logger.ts';
import { Secret } from './secret.ts';

function capture(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLogger({ service: 'gateway', replica: 'gateway-1', destination, ...options });
  return { log, lines, json: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

it('writes one JSON line with service, replica, level as a word and time', () => {
  const { log, json } = capture();
  log.info({ runs: 2 }, 'stopping');
  log.debug('not at this level');
  expect(json()).toEqual([
    expect.objectContaining({
      level: 'info',
      service: 'gateway',
      replica: 'gateway-1',
      runs: 2,
      msg: 'stopping',
    }),
  ]);
  expect(json()[0]?.time).toMatch(/^\d{4}-\d\d-\d\dT/);
});

it.each(['json', 'text'] as const)('escapes what ends a line or controls a terminal, as %s', (format) => {
  const { log, lines } = capture({ format });
  log.error(
    { reason: 'x\u2028FORGED\u2029\u0085\u001b[2J', err: new Error('a\u2028b\u001b[2J') },
    'cancelled',
  );
  const text = lines.join('');
  expect(text).toContain('x\\u2028FORGED\\u2029\\u0085\\u001b[2J');
  expect(text).toContain('a\\u2028b\\u001b[2J');
  for (const character of '\u2028\u2029\u0085\u001b') expect(text).not.toContain(character);
});

it('writes an error with its code and the chain of causes', () => {
  const { log, json } = capture();
  const refused = Object.assign(new Error('connect refused'), { code: 'ECONNREFUSED' });
  log.error({ err: new MeshError('unavailable', 'redis is away', { cause: refused }) }, 'commit failed');
  expect(json()[0]?.err).toMatchObject({
    type: 'MeshError',
    code: 'unavailable',
    message: 'redis is away',
    stack: expect.stringContaining('logger.test.ts'),
    cause: { type: 'Error', code: 'ECONNREFUSED', message: 'connect refused' },
  });
});

it('ends a chain of causes that goes in circles', () => {
  const { log, json } = capture();
  const error = new Error('round');
  error.cause = error;
  log.error({ err: error }, 'failed');
  expect(json()).toHaveLength(1);
});

it('redacts fields with the names of secrets, and every Secret', () => {
  const { log, lines } = capture();
  log.info(
    {
      password: 'hunter2',
      headers: { authorization: 'hunter2', 'x-goog-api-key': 'hunter2' },
      deep: { er: { accessToken: 'hunter2' } },
      config: { redisUrl: new Secret('hunter2') },
      err: new MeshError('internal', 'm', { details: { token: 'hunter2' } }),
    },
    'told',
  );
  expect(lines[0]).not.toContain('hunter2');
  expect(lines[0]?.match(/\[redacted\]/g)).toHaveLength(6);
});

it('writes text for people on request', () => {
  const { log, lines } = capture({ format: 'text' });
  log.warn({ attempt: 2, why: 'lease lost' }, 'retrying');
  log.error({ err: new Error('outer', { cause: new Error('inner') }) }, 'failed');
  expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d\.\d{3} WARN {2}gateway: retrying attempt=2 why="lease lost"\n$/);
  expect(lines[1]).toMatch(/ERROR gateway: failed\n {2}Error: outer[\s\S]*caused by Error: inner/);
});
