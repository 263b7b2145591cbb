import { readFileSync, writeFileSync } from 'node:fs';
import { examplePages, withExamples } from './example-page.ts';
import { generatedTables, withTable } from './generated-docs.ts';

for (const [page, folder] of Object.entries(examplePages))
  rewrite(page, (text) => withExamples(text, folder));
for (const [file, table] of Object.entries(generatedTables))
  rewrite(file, (text) => withTable(text, table()));

function rewrite(file: string, change: (text: string) => string): void {
  const path = new URL(`../${file}`, import.meta.url);
  writeFileSync(path, change(readFileSync(path, 'utf8')));
}
