// A program for `readManifests`: user code is loaded in a process of its own, so that each start reads the
// files as they are now, and so that code that fails or stays in memory does no harm to the dev loop.
import { readDefinitions } from '@agentmesh/mesh/accounts';

const results: unknown[] = [];
for (const file of process.argv.slice(2)) {
  try {
    results.push({ file, manifests: await readDefinitions(file) });
  } catch (error) {
    results.push({ file, problem: error instanceof Error ? error.message : String(error) });
  }
}
// User code may have written to the output before.
process.stdout.write(`\n${JSON.stringify(results)}`, () => process.exit(0));
