import { describe, expect, it } from 'vitest';
import * as busyLists from '../sessions/scripts/busy-scripts.ts';
import * as commits from '../sessions/scripts/commit-script.ts';
import * as deletion from '../sessions/scripts/delete-scripts.ts';
import * as invocations from '../sessions/scripts/invocation-scripts.ts';
import * as leases from '../sessions/scripts/lease-scripts.ts';
import * as queues from '../sessions/scripts/queue-scripts.ts';
import * as sessions from '../sessions/scripts/session-scripts.ts';
import * as taking from '../sessions/scripts/take-script.ts';
import { defineScript } from './define-script.ts';

describe('a script with names', () => {
  it('reads keys, arguments and lists in the order of the call', () => {
    const script = defineScript(
      { keys: 'session sessionEnds', args: 'id', lists: 'opened closed' },
      'return 1\n',
    );
    expect(script.source).toContain(
      'local session = KEYS[1]\nlocal session_ends = KEYS[2]\nlocal id = ARGV[1]\n',
    );
    const [called, keys, args] = script.call({
      closed: [],
      opened: ['a', 2],
      id: 'i',
      sessionEnds: 'k2',
      session: 'k1',
    });
    expect(called.name).toBe(script.name);
    expect([keys, args]).toEqual([
      ['k1', 'k2'],
      ['i', 2, 'a', 2, 0],
    ]);
  });

  it('is not called with a wrong name, or without one', () => {
    const script = defineScript({ keys: 'session', lists: 'opened' }, 'return 1\n');
    // @ts-expect-error: a name that the script does not have
    script.call({ session: 'k', opened: [], other: 'x' });
    // @ts-expect-error: without one of its lists
    expect(() => script.call({ session: 'k' })).toThrow(TypeError);
  });

  it.each([
    ['end', 'end cannot be a variable in Lua'],
    ['redis', 'redis cannot be a variable in Lua'],
    ['a-b', 'a-b cannot be a variable in Lua'],
    ['sessionEnds', 'two keys or arguments called sessionEnds'],
  ])('refuses the name %s', (name, error) => {
    expect(() => defineScript({ keys: 'sessionEnds', args: name }, '')).toThrow(error);
  });
});

const scripts = Object.entries({
  ...commits,
  ...deletion,
  ...invocations,
  ...leases,
  ...queues,
  ...sessions,
  ...taking,
  ...busyLists,
}).flatMap(([constant, script]) =>
  typeof script === 'object' && 'call' in script ? [{ ...script, constant }] : [],
);

describe('the scripts of sessions', () => {
  it.each(scripts)('$constant uses each of its names, and no position', ({ source }) => {
    const declaration = /^local (\w+) = (?:KEYS\[\d+\]|ARGV\[\d+\]|read_list\(\))$/gm;
    const names = [...source.matchAll(declaration)].map(([, name]) => name ?? '');
    expect(names.length).toBeGreaterThan(0);
    const body = source.slice(source.lastIndexOf(`local ${names.at(-1)} = `)).replace(/^.*\n/, '');
    expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(body))).toEqual([]);
    expect(body).not.toMatch(/\b(?:KEYS|ARGV)\b/);
  });

  it('are found', () => {
    expect(scripts.map(({ constant }) => constant)).toEqual(
      expect.arrayContaining([
        'commitScript',
        'createScript',
        'takeScript',
        'noteScript',
        'endScript',
        'deleteSessionScript',
      ]),
    );
  });
});
