import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runLocal } from './run-local.ts';
import { type ProcessMesh, startProcessMesh } from './run-mesh.ts';
import { scenarios } from './scenarios/index.ts';

let mesh: ProcessMesh;
beforeAll(async () => {
  mesh = await startProcessMesh();
});
afterAll(() => mesh?.[Symbol.asyncDispose]());

const differences = readFileSync(new URL('../../docs/adk-differences.md', import.meta.url), 'utf8');

// One after the other: both libraries read the model's address from the environment.
describe.each(scenarios)('$name ($section)', (scenario) => {
  it('is the same in one process and with every agent and tool in a process of its own', async () => {
    const here = await runLocal('agentmesh', scenario);
    expect(await mesh.run(scenario)).toEqual(here);
  });

  it(`${scenario.differs ? 'differs from ADK as docs/adk-differences.md says' : 'is the same with ADK'}`, async () => {
    const ours = await runLocal('agentmesh', scenario);
    const theirs = await runLocal('adk', scenario);
    if (!scenario.differs) {
      expect(ours).toEqual(theirs);
      return;
    }
    expect(ours).not.toEqual(theirs);
    for (const id of scenario.differs) expect(differences, `difference ${id}`).toContain(`| ${id} `);
  });
});
