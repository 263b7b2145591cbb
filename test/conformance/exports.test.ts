import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readExports } from './exports.ts';

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
const [, table = ''] = read('../../docs/adk-differences.md').split(
  '## Exports of ADK 2.0.0 that are missing here',
);
const rows = table.split('\n').filter((line) => line.startsWith('| ') && line.includes(':'));
/** The names of ADK that we do not have, by the topic at the beginning of their row in the documents. */
const listed: Record<string, string[]> = JSON.parse(read('missing-exports.json'));

const { adk, ours } = readExports();
const names = new Set([...ours.values, ...ours.types]);
const members = new Set(ours.members);
const classOf = (member: string) => member.split('.')[0] ?? '';
const classes = new Set(ours.members.map(classOf));
const missing = {
  values: adk.values.filter((name) => !ours.values.includes(name)),
  types: adk.types.filter((name) => !names.has(name)),
  members: adk.declared.filter((member) => classes.has(classOf(member)) && !members.has(member)),
};
const all = new Set(Object.values(missing).flat());

it('compares values, types and members', () => {
  expect(missing.values.length).toBeGreaterThan(100);
  expect(missing.types.length).toBeGreaterThan(50);
  expect(missing.members).toContain('Runner.runLive');
  expect(adk.declared).toContain('LlmAgent.canonicalModel');
  expect(ours.types).toContain('BeforeModelCallback');
});

it('lists exactly the names of ADK that we do not have, once each', () => {
  expect(Object.values(listed).flat().sort()).toEqual([...all].sort());
});

it('names an alternative for each topic', () => {
  const topics = rows.map((row) => row.split('|')[1]?.split(':')[0]?.trim());
  expect(topics.sort()).toEqual(Object.keys(listed).sort());
  for (const row of rows) expect(row.split('|')[2]?.trim()).not.toBe('');
});

it('has only missing names in each row', () => {
  const patterns = rows.flatMap((row) => {
    const [, topic = '', left = ''] = /^\| ([^:]+):(.*?) \|/.exec(row) ?? [];
    return [...left.matchAll(/`([^`\s]+)`/g)].map(([, pattern = '']) => ({ topic, pattern }));
  });
  expect(patterns.length).toBeGreaterThan(50);
  const useless = patterns.filter(({ topic, pattern }) => {
    const fits = new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
    return !listed[topic]?.some((name) => fits.test(name));
  });
  expect(useless).toEqual([]);
});
