import { describe, expect, it } from 'vitest';
import { readCommandLine } from './command-line.ts';
import { readOpFaults, writeOpFaults } from './faults/op-fault.ts';

describe('refuses, in one line,', () => {
  it.each([
    [[], 'use one of --one, --crash'],
    [['--crash', 'all', '--random', '3'], 'use one of --one, --crash'],
    [['--crash', 'nowhere'], 'there is no scenario "nowhere"; use one of: plain, local'],
    [['--sabotage', 'nothing'], 'there is no sabotage "nothing"; use all, or some of: no-fencing'],
    [['--random', 'many'], '--random many: use a whole number from 1 on'],
    [['--speed', '3'], 'there is no option --speed; --help lists the options'],
    [['--one', 'remote', '--crash', 'front_agent'], 'use <place>/<operation>/<before|after|pause|failover>'],
  ])('%j', (args, message) => {
    expect(() => readCommandLine(args)).toThrow(message);
  });
});

it('reads the command that repeats a history', () => {
  const work = readCommandLine(['--one', 'remote', '--seed', '3', '--crash', 'front_agent/1/12/after']);
  expect(work).toMatchObject({
    ...{ do: 'one', plan: { seed: '3', scenario: { name: 'remote' } } },
    plan: { faults: { ops: [{ life: 'front_agent/1#1', op: 12, when: 'after' }] } },
  });
});

it('reads faults as it writes them', () => {
  const text = 'front_agent/1/12/after,add_remote/2#2/3/pause';
  expect(writeOpFaults(readOpFaults(text))).toBe(text);
});
