import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { readCommandLine, WrongUsage } from './command-line.ts';

const read = (line: string) => readCommandLine(line.split(' ').filter(Boolean));

it('makes a plan of the options', () => {
  const line = '--runs 5 --seed 7 --mix kills,pauses --clients 2 --fault-every 900 --redis sentinel';
  expect(
    read(`${line} --nats-servers 3 --accounts jwt --longest-outage 2 --visits talk --verbose`),
  ).toMatchObject({
    do: 'run',
    verbose: true,
    plan: {
      settings: {
        ...{ runs: 5, seed: 7, mixes: ['kills', 'pauses'], clients: 2, everyMs: 900, redisKind: 'sentinel' },
        ...{ natsServers: 3, accounts: 'jwt', longestMs: 2_000, visits: ['talk'], waitReplicas: 1 },
      },
    },
  });
  expect(read('')).toMatchObject({
    do: 'run',
    verbose: false,
    plan: { settings: { runs: 300, accounts: 'file' } },
  });
  expect(read('--soak 3 --mix none')).toMatchObject({ do: 'soak', minutes: 3 });
});

it('shows its usage with every option', () => {
  const work = read('--help --runs 5');
  expect(work).toMatchObject({ do: 'help', text: expect.stringMatching(/^usage: npm run chaos/) });
  expect(work).toMatchObject({ text: expect.stringMatching(/--fault-every <ms>.*\n.*--longest-outage <s>/) });
});

it.each([
  ['--rnus 5', 'there is no option --rnus; --help lists the options'],
  ['five', '"five" is no option; --help lists the options'],
  ['--seed', /^--seed needs a value: --seed <n>, /],
  ['--seed --verbose', /^--seed needs a value/],
  ['--verbose=yes', '--verbose takes no value'],
  ['--runs abc', '--runs abc: use a whole number from 1 on'],
  ['--runs 0', '--runs 0: use a whole number from 1 on'],
  ['--clients 1.5', '--clients 1.5: use a whole number from 1 on'],
  ['--nats-servers 2', '--nats-servers 2: use 1 or 3'],
  ['--accounts jwts', '--accounts jwts: use file or jwt or none'],
  ['--redis valkey', '--redis valkey: use single or sentinel or cluster'],
  ['--wait-replicas 1', '--wait-replicas 1: use 0'],
  ['--mix kils', /^--mix kils: there is no mix "kils"; use all, or some of: none, kills/],
  ['--visits tolk', /^--visits tolk: there is no kind of visit "tolk"; use some of: talk/],
  ['--replay nowhere.json', '--replay nowhere.json: there is no such file'],
  ['--replay plan.json --runs 5', '--runs does not go with --replay'],
  ['--soak 2 --runs 5', '--runs does not go with --soak'],
  ['--tries 5', '--tries goes only with --shrink <file>'],
])('refuses %s in one line', (line, message) => {
  expect(() => read(line)).toThrow(message);
  expect(() => read(line)).toThrow(WrongUsage);
  expect(() => read(line)).not.toThrow(/\n/);
});

it('refuses a file without a plan', () => {
  const folder = mkdtempSync(join(tmpdir(), 'agentmesh-chaos-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'plan.json');
  for (const text of ['{}', 'no JSON', 'null']) {
    writeFileSync(file, text);
    expect(() => read(`--shrink ${file}`)).toThrow(`--shrink ${file}: no plan of format 1 is in the file`);
  }
});
