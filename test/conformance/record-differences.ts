/**
 * Writes `differences.json` again: the differences of ADK in the scenarios that declare some. Check the
 * changes before you commit them.
 *
 * `node test/conformance/record-differences.ts`
 */
import { writeFileSync } from 'node:fs';
import { differencesOf } from './differences.ts';
import { runLocal } from './run-local.ts';
import { scenarios } from './scenarios/index.ts';

const recorded: Record<string, string[]> = {};
for (const scenario of scenarios.filter(({ differs = [] }) => differs.length > 0)) {
  const ours = await runLocal('agentmesh', scenario);
  recorded[scenario.name] = differencesOf(await runLocal('adk', scenario), ours);
}
const file = new URL('differences.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(recorded, null, 2)}\n`);
