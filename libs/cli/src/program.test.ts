import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { jsonOf, linesOf } from './commands.fixture.ts';
import { commands } from './commands.ts';
import { groups } from './groups.ts';

const place = { env: {} };
const help = async (...words: string[]) => (await linesOf(place, [...words, '--help'])).join('\n');

describe('the tree of commands', () => {
  it.each(Object.keys(commands))('has help for %s', async (name) => {
    const text = await help(...name.split(' '));
    expect(text).toContain(`Usage: agentmesh ${name} `);
    for (const option of ['--json', '--context <name>', '--help']) expect(text).toContain(option);
    for (const { flags } of commands[name]?.options ?? []) expect(text).toContain(flags);
  });

  it('has help for each group, and lists every group', async () => {
    const all = await help();
    for (const [group, meaning] of Object.entries(groups)) {
      expect(all).toContain(group);
      expect(await help(group)).toContain(meaning);
    }
    expect(await linesOf(place, ['help', 'cards'])).toEqual(await linesOf(place, ['cards', '--help']));
  });

  it('has a meaning for each group, and no other', () => {
    const used = Object.keys(commands).flatMap((name) => (name.includes(' ') ? name.split(' ')[0] : []));
    expect(Object.keys(groups).sort()).toEqual([...new Set(used)].sort());
  });

  it.each([
    [['card', 'list'], 'there is no command "card list"; did you mean cards list?'],
    [['completon', 'bash'], 'there is no command "completon"; did you mean completion?'],
    [['cards', 'lst'], 'there is no command "cards lst"; did you mean cards list?'],
    [['cards', 'list', '--contxt', 'x'], 'cards list has no option --contxt; did you mean --context?'],
    [['inti', 'shop'], 'there is no command "inti"; did you mean init?'],
    [
      ['ivnocations', 'shwo', 'e-1'],
      'there is no command "ivnocations shwo"; did you mean invocations show?',
    ],
    [['ls', '--jsno'], 'ls has no option --jsno; did you mean --json?'],
    [['ask', 'a', 'hi', '--suer', 'ann'], 'ask has no option --suer; did you mean --user?'],
    [['--hlep'], 'name a command before "--hlep"; did you mean --help?'],
    [['cards', 'list', 'more'], 'cards list does not take "more"'],
    [['--json'], 'name a command before "--json"'],
    [['completion', 'csh'], 'there is no completion for "csh"; use bash, zsh or fish'],
  ])('refuses %j', async (words, message) => {
    await expect(linesOf(place, words)).rejects.toMatchObject({
      name: 'MeshError',
      code: 'invalid_argument',
      message: expect.stringContaining(message),
    });
  });
});

describe('completion', () => {
  /** Returns the words that bash offers after a line. */
  async function offered(line: string): Promise<string[]> {
    const script = (await linesOf(place, ['completion', 'bash'])).join('\n');
    const words = line.split(' ').map((word) => `'${word}'`);
    const ask = `COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _agentmesh; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await promisify(execFile)('bash', ['-c', `${script}\n${ask}`]);
    return stdout.split('\n').filter(Boolean);
  }

  it('offers commands, then the words of a group, then options', async () => {
    expect(await offered('agentmesh ca')).toEqual(expect.arrayContaining(['cards', 'cancel']));
    expect(await offered('agentmesh cards ')).toEqual(['list', 'remove']);
    expect(await offered('agentmesh --json cards r')).toEqual(['remove']);
    expect(await offered('agentmesh user delete ann --')).toEqual(['--yes', '--json', '--context', '--help']);
  });

  it('completes npx agentmesh, with options of npx and paths of the program', async () => {
    expect(await offered('npx ag')).toEqual(['agentmesh']);
    expect(await offered('npx agentmesh cards ')).toEqual(['list', 'remove']);
    expect(await offered('npx --yes agentmesh cards r')).toEqual(['remove']);
    expect(await offered('node_modules/.bin/agentmesh cards r')).toEqual(['remove']);
    expect(await offered('npx other cards ')).toEqual([]);
    const script = (await linesOf(place, ['completion', 'bash'])).join('\n');
    const which = async (before: string) =>
      (await promisify(execFile)('bash', ['-c', `${before}\n${script}\ncomplete -p npx`])).stdout;
    expect(await which('')).toContain('_agentmesh npx');
    expect(await which('complete -F _mine npx')).toBe('complete -F _mine npx\n');
    expect(await help('completion')).toContain('It completes agentmesh and npx agentmesh');
    // It starts seven shells, one after the other.
  }, 20_000);

  it('is written for zsh and fish too, also as JSON', async () => {
    expect((await linesOf(place, ['completion', 'zsh'])).join('\n')).toContain('bashcompinit');
    const [fish] = (await jsonOf(place, ['completion', 'fish'])) as [{ script: string }];
    expect(fish.script).toContain("-a 'remove' -d 'forgets a service that is gone for good, and its app'");
  });
});
