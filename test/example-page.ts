import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const examplePage = 'docs/programming-model.md';
export const examplesFolder = 'docs/examples/programming-model';
/** The pages with examples, and the folders of the examples. */
export const examplePages = {
  [examplePage]: examplesFolder,
  'docs/credentials.md': 'docs/examples/credentials',
  'docs/memory.md': 'docs/examples/memory',
  'libs/client/README.md': 'docs/examples/client',
};

const root = join(import.meta.dirname, '..');
const read = (folder: string, name: string) => readFileSync(join(root, folder, name), 'utf8').trimEnd();
/** The pattern of a line that names an example, with the code blocks after it. */
const place = /^<!-- example: ([\w-]+)\.ts -->\n(?:\n```(?:ts|text)\n.*?\n```\n)*/gms;

/** Returns the names of the examples on the page, without `.ts`. */
export function examplesOf(page: string): string[] {
  return [...page.matchAll(place)].map(([, name = '']) => name);
}

/** Puts the text and the output of each example after the line that names it. */
export function withExamples(page: string, folder = examplesFolder): string {
  return page.replace(place, (_all, name: string) => {
    const output = existsSync(join(root, folder, `${name}.txt`))
      ? block('text', read(folder, `${name}.txt`))
      : '';
    return `<!-- example: ${name}.ts -->\n${block('ts', read(folder, `${name}.ts`))}${output}`;
  });
}

function block(language: string, text: string): string {
  return `\n\`\`\`${language}\n${text}\n\`\`\`\n`;
}
