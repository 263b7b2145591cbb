import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { examplePages, withExamples } from './example-page.ts';
import { generatedTables, withTable } from './generated-docs.ts';
import { moduleOf, pythonFiles } from './python-files.ts';
import { assertKept, contractFile, readWireFile, textOf, wireFiles } from './wire/wire-files.ts';

for (const [page, folder] of Object.entries(examplePages))
  rewrite(page, (text) => withExamples(text, folder));
for (const [file, table] of Object.entries(generatedTables))
  rewrite(file, (text) => withTable(text, table()));

const pathOf = (file: string) => new URL(`../${file}`, import.meta.url);
if (existsSync(pathOf(contractFile))) assertKept();
mkdirSync(pathOf('docs/schemas'), { recursive: true });
for (const [file, value] of wireFiles()) {
  // A file with the same contents keeps the layout of the formatter.
  const isSame =
    existsSync(pathOf(file)) && isDeepStrictEqual(readWireFile(file), JSON.parse(JSON.stringify(value)));
  if (!isSame) writeFileSync(pathOf(file), textOf(file, value));
}
for (const [example, file] of Object.entries(pythonFiles)) writeFileSync(pathOf(file), moduleOf(example));

function rewrite(file: string, change: (text: string) => string): void {
  const path = new URL(`../${file}`, import.meta.url);
  writeFileSync(path, change(readFileSync(path, 'utf8')));
}
