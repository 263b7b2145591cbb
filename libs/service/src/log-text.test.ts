import { pino } from 'pino';
import { expect, it } from 'vitest';
import { secretKeys } from './log-text.ts';
import { createLogger } from './logger.ts';
import { redacted } from './secret.ts';

/** Returns numbers from 0 up to `below`, the same ones for the same seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % below;
  };
}

const keys = [...secretKeys, 'a', 'tokens', 'my-token', 'Token', 'er"ror', 'say "token":', 'err', '0', 'msg'];
const texts = ['', 'hunter2', '"token":"x"', 'a \\"password\\": b', '\u2028', '{"secret":1}'];

function randomValue(next: (below: number) => number, depth: number): unknown {
  const kind = next(depth > 4 ? 4 : 8);
  if (kind === 0) return texts[next(texts.length)];
  if (kind === 1) return next(1000);
  if (kind === 2) return [null, true][next(2)];
  if (kind === 3) return new Error('m', { cause: new Error('c') });
  if (kind === 4) return Array.from({ length: next(4) }, () => randomValue(next, depth + 1));
  return randomObject(next, depth + 1);
}

function randomObject(next: (below: number) => number, depth = 0): Record<string, unknown> {
  const pairs = Array.from({ length: next(5) }, () => [keys[next(keys.length)], randomValue(next, depth)]);
  return Object.fromEntries(pairs) as Record<string, unknown>;
}

/** The paths that pino itself hides: keys with the names of secrets in the first three levels. */
const paths = secretKeys.flatMap((key) => [`["${key}"]`, `*["${key}"]`, `*.*["${key}"]`]);

/** Returns the values of `fast` that should be as in `slow` and are not, by their paths; counts the hidden ones. */
function differences(slow: unknown, fast: unknown, count: () => void, path = ''): string[] {
  if (slow === redacted) count();
  if (fast === redacted && secretKeys.includes(path.slice(path.lastIndexOf('/') + 1))) return [];
  if (typeof slow !== 'object' || slow === null || typeof fast !== 'object' || fast === null)
    return Object.is(slow, fast) ? [] : [path];
  const names = new Set([...Object.keys(slow), ...Object.keys(fast)]);
  const at = (of: object, name: string) => (of as Record<string, unknown>)[name];
  return [...names].flatMap((name) => differences(at(slow, name), at(fast, name), count, `${path}/${name}`));
}

it('hides every value that redaction by paths hides, and changes nothing else', () => {
  const lines = { slow: '', fast: '' };
  const base = { level: 'debug', service: 'gateway', replica: 'r-1' } as const;
  const byPaths = pino(
    {
      level: base.level,
      base: { service: base.service, replica: base.replica },
      formatters: { level: (label) => ({ level: label }) },
      timestamp: () => ',"time":"then"',
      redact: { paths, censor: redacted },
    },
    { write: (line) => void Object.assign(lines, { slow: line }) },
  );
  const log = createLogger({
    ...base,
    destination: { write: (line) => void Object.assign(lines, { fast: line }) },
  });
  let hidden = 0;
  for (let seed = 1; seed <= 3000; seed += 1) {
    const [one, two] = [numbers(seed), numbers(seed)];
    // Bindings of a child are in the line before the fields.
    const [fields, same] = [randomObject(one), randomObject(two)].map(({ err: _err, ...rest }) => rest);
    byPaths.child({ of: fields }).info(fields, 'm "token":');
    log.child({ of: same }).info(same, 'm "token":');
    const [expected, found] = [JSON.parse(lines.slow), JSON.parse(lines.fast)];
    const count = () => {
      hidden += 1;
    };
    expect(differences(expected, { ...found, time: 'then' }, count), lines.slow).toEqual([]);
  }
  expect(hidden).toBeGreaterThan(1000);
});

it('hides secrets below the third level, in lists, and in the details of errors', () => {
  const lines: string[] = [];
  const log = createLogger({
    service: 's',
    replica: 'r',
    destination: { write: (line) => void lines.push(line) },
  });
  log.info({ a: { b: [{ c: { token: { text: 'hunter2' } } }] }, password: ['hunter2'] }, 'stopping');
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    a: { b: [{ c: { token: redacted } }] },
    password: redacted,
    msg: 'stopping',
  });
});
