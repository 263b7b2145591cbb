import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatedFiles, manifestFolders, staleManifests } from './generated.ts';
import { assertDistinct, samples } from './local/samples.ts';

// Writes the generated files. Run `node deploy/write.ts` or `npm run generate` after you add, remove or
// change a service. Manifests of services that are gone are deleted; files without the mark are not.
assertDistinct(samples);
const files = generatedFiles();
for (const folder of manifestFolders) {
  const expected = [...files.keys()].filter((file) => file.startsWith(`${folder}/`));
  for (const file of staleManifests(join(import.meta.dirname, folder), expected)) {
    rmSync(file);
    console.log(`deleted ${file}, whose service is gone`);
  }
}
for (const [file, text] of files) writeFileSync(join(import.meta.dirname, file), text);
