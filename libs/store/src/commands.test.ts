import { globSync, readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { commandsOf, type StorePart } from './commands.ts';

/** The rooms with the code of each part. */
const rooms: [StorePart, string][] = [
  ['api-keys', 'access'],
  ['callers', 'identity'],
  ['limits', 'limits'],
  ['calls', 'calls'],
  ['credentials', 'credentials'],
  ['data-keys', 'data-keys'],
  ['memory', 'memory'],
  ['sessions', 'sessions'],
];
/** Commands that the Redis client sends by itself, and the commands that run functions. */
const ofTheClient = ['info', 'select', 'client|setname', 'cluster|slots', 'readonly', 'readwrite'];
const functions = ['fcall', 'fcall_ro'];
const known = new Set(new Redis({ lazyConnect: true }).getBuiltinCommands());

/** Returns the commands in the code below a folder: those of scripts, and those that are sent. */
function usedIn(room: string): string[] {
  const files = globSync(`${import.meta.dirname}/${room}/**/*.ts`).filter(
    (file) => !/\.(test|fixture)\.ts$/.test(file),
  );
  const text = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  const inScripts = [...text.matchAll(/redis\.p?call\('([A-Z]+)'/g)].map(([, name = '']) => name);
  const sent = [...text.matchAll(/\b(?:redis|cluster|node)\.(\w+?)(?:Buffer)?\(/g)].map(
    ([, name = '']) => name,
  );
  return [...new Set([...inScripts.map((name) => name.toLowerCase()), ...sent])].filter((name) =>
    known.has(name),
  );
}

// `TIME` is in a part of Lua that several rooms use.
const isShared = (name: string) => ['time', 'zadd', 'zremrangebyscore', 'pttl', 'pexpire'].includes(name);

describe.each(rooms)('the commands of the part %s', (part, room) => {
  it('are those that its code uses', () => {
    const granted = commandsOf([part]);
    const used = usedIn(room);
    expect(used.filter((name) => !granted.includes(name))).toEqual([]);
    expect(granted.filter((name) => !used.includes(name) && !isShared(name))).toEqual([]);
  });
});

it('a connection needs the commands of its client, and those that run functions', () => {
  const used = usedIn('connection').filter((name) => name !== 'function' && name !== 'exists');
  expect(commandsOf(['connection'])).toEqual([...used, ...ofTheClient, ...functions].sort());
});

it('no part but the one for provisioning may load or evaluate code', () => {
  const all = commandsOf(['connection', 'api-keys', 'calls', 'records', 'credentials', 'memory', 'sessions']);
  expect(all.filter((name) => /eval|script|function|^config|^acl|^keys$|^scan$/.test(name))).toEqual([]);
  expect(commandsOf(['functions'])).toEqual(['function|load']);
});
