import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generatedTables, withTable } from './generated-docs.ts';

const root = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const documents = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'deploy/README.md',
  'services/gateway/README.md',
  'services/agents/README.md',
  'services/tools/README.md',
  ...readdirSync(join(root, 'libs')).map((name) => `libs/${name}/README.md`),
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

describe('the documents', () => {
  it.each(Object.entries(generatedTables))(
    '%s holds what the code says; write it anew with node test/write-docs.ts',
    (file, table) => {
      // The formatter may align columns, so only the texts of the cells are compared.
      const cells = (text: string) => text.replace(/[ \t]+/g, ' ').replace(/-{2,}/g, '---');
      expect(cells(read(file))).toBe(cells(withTable(read(file), table())));
    },
  );

  it.each(documents)('%s links only to existing files', (file) => {
    const links = [...read(file).matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)].map(
      ([, to]) => to ?? '',
    );
    for (const to of links) expect(existsSync(join(root, dirname(file), to)), `${file}: ${to}`).toBe(true);
  });

  it('docs/message-lifecycle.md and docs/architecture.md name only existing files', () => {
    for (const file of ['docs/message-lifecycle.md', 'docs/architecture.md']) {
      const named = [...read(file).matchAll(/`((?:libs|services|deploy|test)\/[\w./-]+)`/g)].map(
        ([, path]) => path ?? '',
      );
      expect(named.length).toBeGreaterThan(5);
      for (const path of named) expect(existsSync(join(root, path)), `${file}: ${path}`).toBe(true);
    }
  });

  it('docs/troubleshooting.md and docs/errors.md quote only texts that the code has', () => {
    const quoted = [...read('docs/troubleshooting.md').matchAll(/^```text\n(.*?)^```$/gms)].flatMap(
      ([, text = '']) => text.trim().split('\n'),
    );
    const [, log = ''] = read('docs/errors.md').split('## The log of a service');
    const logged = [...log.matchAll(/^\| (`.*?`) +\|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text),
    );
    expect(quoted.length).toBeGreaterThan(30);
    expect(logged.length).toBeGreaterThan(20);
    const sources = sourceTexts();
    for (const text of [...quoted, ...logged]) {
      const parts = text.split('…').filter((part) => part.trim().length > 2);
      const isThere = sources.some((source) => parts.every((part) => source.includes(part)));
      expect(isThere, text).toBe(true);
    }
  });

  it('docs/architecture.md names an existing owner of every term', () => {
    const glossary = read('docs/architecture.md').split('\n## Glossary\n')[1] ?? '';
    const entries = glossary.match(/^- \*\*.*$/gm) ?? [];
    expect(entries.length).toBeGreaterThan(40);
    for (const entry of entries) {
      const [, identifier = '', folder = ''] = /\(`(\w+)` in `(libs\/\w+)`\)$/.exec(entry) ?? [];
      expect(wordsOf(folder).has(identifier), entry).toBe(true);
    }
  });
});

/** Returns the texts of all our sources. */
function sourceTexts(): string[] {
  const filesIn = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return ['node_modules', 'dist'].includes(entry.name) ? [] : filesIn(path);
      return path.endsWith('.ts') && !path.endsWith('.test.ts') ? [path] : [];
    });
  return ['libs', 'services', 'deploy'].flatMap(filesIn).map((file) => read(file).replaceAll("\\'", "'"));
}

const words = new Map<string, Set<string>>();

/** Returns all words in the sources of a package. */
function wordsOf(folder: string): Set<string> {
  const known = words.get(folder);
  if (known) return known;
  const src = join(root, folder, 'src');
  const files = existsSync(src) ? readdirSync(src, { recursive: true, encoding: 'utf8' }) : [];
  const sources = files.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  const found = new Set(sources.flatMap((name) => read(join(folder, 'src', name)).match(/\w+/g) ?? []));
  words.set(folder, found);
  return found;
}
