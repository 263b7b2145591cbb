import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { allScripts } from './functions.ts';
import { libraryOf, script } from './scripts/script.ts';

it('lists each script of the store once', () => {
  const files = globSync(`${import.meta.dirname}/*/**/*.ts`).filter(
    (file) => !/\.(test|fixture)\.ts$/.test(file),
  );
  const text = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  const made = [...text.matchAll(/const \w+ = (?:script|defineScript|chainScripts)\(/g)];
  expect(made.length).toBeGreaterThan(40);
  expect(allScripts).toHaveLength(made.length);
  expect(new Set(allScripts.map(({ name }) => name)).size).toBe(made.length);
});

it('gives a changed script, and a script of another effect, another name', () => {
  const names = [script('return 1'), script('return 2'), script('return 1', 'reads')].map(({ name }) => name);
  expect(new Set(names).size).toBe(3);
  expect(script('return 1').name).toBe(names[0]);
  expect(libraryOf(script('return 1'))).toContain(`#!lua name=${names[0]}\n`);
});
