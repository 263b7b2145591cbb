// A program for `readManifests`: user code is loaded in a process of its own, so that each start reads the
// files as they are now, and so that code that fails or stays in memory does no harm to the dev loop.
import { readDefinitions } from '@agentmesh/mesh/accounts';

for (const file of process.argv.slice(2)) {
  const result = await readDefinitions(file).then(
    (manifests) => ({ manifests }),
    (error: unknown) => ({ problem: error instanceof Error ? error.message : String(error) }),
  );
  // The next file may end this process.
  await new Promise((done) => process.send?.(result, done));
}
process.exit(0);
