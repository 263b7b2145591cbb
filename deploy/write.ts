import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatedFiles, generatedMark, manifestFolders } from './generated.ts';

// Writes the generated files. Run `node deploy/write.ts` or `npm run generate` after you add, remove or
// change a service. Manifests of services that are gone are deleted; files without the mark are not.
const files = generatedFiles();
for (const folder of manifestFolders) {
  const there = readdirSync(join(import.meta.dirname, folder), { withFileTypes: true });
  for (const entry of there.filter((each) => each.isFile() && !files.has(`${folder}/${each.name}`))) {
    const path = join(import.meta.dirname, folder, entry.name);
    if (!readFileSync(path, 'utf8').startsWith(generatedMark)) continue;
    rmSync(path);
    console.log(`deleted ${folder}/${entry.name}, whose service is gone`);
  }
}
for (const [file, text] of files) writeFileSync(join(import.meta.dirname, file), text);
