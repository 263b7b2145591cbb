import { readFileSync } from 'node:fs';
import * as ours from '@agentmesh/agent';
import * as adk from '@google/adk';
import { expect, it } from 'vitest';

const page = readFileSync(new URL('../../docs/adk-differences.md', import.meta.url), 'utf8');
const [, list = ''] = page.split('## What ADK 2.0.0 exports and we do not');
const rows = list.split('\n').filter((line) => line.startsWith('| ') && line.includes('`'));
const namesIn = (text = '') => [...text.matchAll(/`([^`\s]+)`/g)].map(([, name = '']) => name);
const listed = rows.flatMap((row) => namesIn(row.split('|')[1]));
const missing = Object.keys(adk).filter((name) => !(name in ours));
const fits = (pattern: string, name: string) => new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(name);

it('every export of ADK that we do not have is in the list', () => {
  expect(missing.length).toBeGreaterThan(100);
  expect(missing.filter((name) => !listed.some((pattern) => fits(pattern, name)))).toEqual([]);
});

it('the list has nothing that we do have, or ADK does not', () => {
  expect(listed.filter((pattern) => !missing.some((name) => fits(pattern, name)))).toEqual([]);
});
