import { describe, expect, it } from 'vitest';
import { logPrinter } from './print.ts';
import { assertDistinct } from './samples.ts';

const line = (level: string, msg: string, more: Record<string, unknown> = {}) =>
  JSON.stringify({ level, time: '2026-01-02T03:04:05.678Z', service: 'agent_a', replica: 'r', msg, ...more });

function printer(env: NodeJS.ProcessEnv) {
  const lines: string[] = [];
  const time = { now: 0 };
  const print = (text: string) => void lines.push(text);
  return { lines, time, ...logPrinter({ env, print, now: () => time.now }) };
}

describe('the log that npm start prints', () => {
  it('is short by itself: warnings and errors, the same words of several services once', () => {
    const { lines, time, onLine, scripted } = printer({});
    onLine('a', line('info', 'started'));
    onLine('a', line('info', 'answers come from a script', { model: 'scripted' }));
    for (const service of ['a', 'b', 'c']) onLine(service, line('warn', 'away', { reason: 'refused' }));
    time.now = 20_000;
    onLine('b', line('error', 'away', { err: { message: 'refused' } }));
    onLine('b', 'no JSON');
    expect(lines).toEqual(['  warn a: away: refused', '  error b: away: refused', '  b: no JSON']);
    expect([...scripted]).toEqual(['a']);
  });

  it('is whole, as text, where a level is set, and in the format that is set', () => {
    const text = printer({ MESH_LOG_LEVEL: 'debug' });
    text.onLine('a', line('debug', 'handed over', { to: 'b' }));
    text.onLine('a', line('trace', 'too fine'));
    expect(text.lines).toEqual(['03:04:05.678 DEBUG agent_a: handed over to=b']);
    const json = printer({ MESH_LOG_FORMAT: 'json' });
    json.onLine('a', line('info', 'started'));
    json.onLine('a', line('debug', 'too fine'));
    expect(json.lines).toEqual([line('info', 'started')]);
    const silent = printer({ MESH_LOG_LEVEL: 'error' });
    silent.onLine('a', line('warn', 'away'));
    expect(silent.lines).toEqual([]);
  });
});

it('two services of one name are refused, and both folders are named', () => {
  const manifest = { kind: 'agent' as const, name: 'twin', transfers: [], asks: [], calls: [] };
  const tool = { ...manifest, kind: 'tool' as const };
  expect(() =>
    assertDistinct([
      { manifest, folder: 'one' },
      { manifest: tool, folder: 'two' },
    ]),
  ).not.toThrow();
  expect(() =>
    assertDistinct([
      { manifest, folder: 'one' },
      { manifest, folder: 'two' },
    ]),
  ).toThrow('agent twin is defined twice, in one and in two');
});
