import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { generatedFiles, manifestFolders } from './generated.ts';

// Writes the generated files. Run `node deploy/write.ts` or `npm run generate` after you add, remove or
// change a service.
const files = generatedFiles();
for (const folder of manifestFolders) {
  for (const name of readdirSync(new URL(`${folder}/`, import.meta.url))) {
    if (!files.has(`${folder}/${name}`)) rmSync(new URL(`${folder}/${name}`, import.meta.url));
  }
}
for (const [file, text] of files) writeFileSync(new URL(file, import.meta.url), text);
