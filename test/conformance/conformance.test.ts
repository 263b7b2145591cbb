import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { differencesOf } from './differences.ts';
import type { Outcome } from './kit.ts';
import { runLocal } from './run-local.ts';
import { type ProcessMesh, startProcessMesh } from './run-mesh.ts';
import { scenarios } from './scenarios/index.ts';

let mesh: ProcessMesh;
beforeAll(async () => {
  mesh = await startProcessMesh();
});
afterAll(() => mesh?.[Symbol.asyncDispose]());

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');
const page = read('../../docs/adk-differences.md');
const [reasons = '', withTests = ''] = page.split('## Differences outside the scenarios');
const recorded: Record<string, string[]> = JSON.parse(read('differences.json'));

// The scenarios run one after the other, because both libraries read the model's address from the
// environment.
describe.each(scenarios)('$name ($section)', (scenario) => {
  let ours: Outcome;
  beforeAll(async () => {
    ours = await runLocal('agentmesh', scenario);
  });

  it('is the same in one process and with every agent and tool in a process of its own', async () => {
    expect(await mesh.run(scenario)).toEqual(ours);
  });

  it(`${scenario.differs ? 'differs from ADK as differences.json says' : 'is the same with ADK'}`, async () => {
    const { name, differs = [] } = scenario;
    const theirs = await runLocal('adk', scenario);
    expect(differencesOf(theirs, ours)).toEqual(recorded[name] ?? []);
    for (const id of differs) expect(reasons, `difference ${id}`).toContain(`| ${id} `);
  });
});

it('has scenarios of different names', () => {
  expect(new Set(scenarios.map(({ name }) => name)).size).toBe(scenarios.length);
});

it('records differences of scenarios that give a reason for them, and of no others', () => {
  const giving = scenarios.filter(({ differs = [] }) => differs.length > 0).map(({ name }) => name);
  expect(Object.keys(recorded).sort()).toEqual(giving.sort());
  for (const name of giving) expect(recorded[name], name).not.toEqual([]);
});

it('has every reason of docs/adk-differences.md in a scenario', () => {
  const given = new Set(scenarios.flatMap(({ differs = [] }) => differs));
  const listed = [...reasons.matchAll(/^\| ([BD]\d+) /gm)].map(([, id]) => id);
  expect(listed.filter((id) => !given.has(id ?? ''))).toEqual([]);
});

it('has a test for every difference that no scenario can show', () => {
  const rows = [...withTests.matchAll(/^\| [BD]\d+ .*\| `([^`]+)`: (.+?) +\|$/gm)];
  expect(rows.length).toBeGreaterThan(10);
  const named = rows.map(([, file = '', title = '']) => ({ file, title }));
  expect(named.filter(({ file, title }) => !read(`../../${file}`).includes(title))).toEqual([]);
});
