import { globSync, readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';

const here = new URL('.', import.meta.url).pathname;
const acl = readFileSync(`${here}../../../../deploy/redis/users.acl`, 'utf8');
const [rights = ''] = /^user agentmesh .*$/m.exec(acl) ?? [];
const granted = new Set([...rights.matchAll(/ \+(\S+)/g)].map(([, name = '']) => name));

/** Commands that the Redis client sends by itself, and the commands that run scripts. */
const ofTheClient = ['info', 'select', 'client|setname', 'cluster|slots', 'readonly', 'readwrite'];
const scripts = ['fcall', 'fcall_ro', 'function|load'];

/** Returns the commands in the code of the store: those of scripts, and of its connection. */
function used(): string[] {
  const files = globSync(`${here}../**/*.ts`).filter((file) => !/\.(test|fixture)\.ts$/.test(file));
  const text = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  const inScripts = [...text.matchAll(/redis\.p?call\('([A-Z]+)'/g)].map(([, name = '']) =>
    name === 'FUNCTION' ? 'function|load' : name.toLowerCase(),
  );
  const all = new Set(new Redis({ lazyConnect: true }).getBuiltinCommands());
  const inCode = [...text.matchAll(/\b(?:redis|cluster)\.(\w+)\(/g)].map(([, name = '']) => name);
  return [...inScripts, ...inCode.filter((name) => all.has(name))];
}

describe('deploy/redis/users.acl', () => {
  it('grants the commands that the store uses', () => {
    expect(used().filter((name) => !granted.has(name))).toEqual([]);
  });

  it('grants no more', () => {
    const needed = new Set([...used(), ...scripts, ...ofTheClient]);
    expect([...granted].filter((name) => !needed.has(name))).toEqual([]);
    expect(rights).toMatch(/ resetchannels resetkeys ~am:\* nocommands /);
  });
});
