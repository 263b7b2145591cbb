import { readFileSync, writeFileSync } from 'node:fs';
import { generatedTables, withTable } from './generated-docs.ts';

for (const [file, table] of Object.entries(generatedTables)) {
  const path = new URL(`../${file}`, import.meta.url);
  writeFileSync(path, withTable(readFileSync(path, 'utf8'), table()));
}
