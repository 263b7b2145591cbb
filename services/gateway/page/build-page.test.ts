import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, expect, it } from 'vitest';
import { buildPage, builtFolder } from './build-page.ts';

let files: Map<string, string>;
beforeAll(async () => {
  files = await buildPage({ writes: false });
});

it('the built page is that of the sources; npm run generate builds it', () => {
  expect([...files.keys()].sort()).toEqual(['console.css', 'console.js', 'index.html', 'licences.md']);
  for (const [name, text] of files)
    expect(readFileSync(join(builtFolder, name), 'utf8') === text, `${name} is current`).toBe(true);
});

it('the page is smaller than 300 kB, compressed', () => {
  const sizes = [...files.values()].map((text) => gzipSync(text, { level: 9 }).length);
  const size = sizes.reduce((total, each) => total + each, 0);
  expect(size).toBeGreaterThan(10_000);
  expect(size).toBeLessThan(300_000);
});

it('the page names no other host', () => {
  const html = files.get('index.html') ?? '';
  expect(html).not.toMatch(/(?:src|href)="https?:/);
  expect(files.get('console.css')).not.toMatch(/url\(|@import/);
});
