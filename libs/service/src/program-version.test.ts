import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { programVersion } from './program-version.ts';

it('finds the version of the package of a program, and passes over manifests without one', () => {
  const root = mkdtempSync(join(tmpdir(), 'agentmesh-version-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const folder = join(root, 'agents/one');
  mkdirSync(folder, { recursive: true });
  const program = join(folder, 'main.ts');
  expect(programVersion(undefined)).toBeUndefined();
  expect(programVersion(program)).toBeUndefined();
  writeFileSync(join(root, 'package.json'), '{ "version": "2.3.4" }');
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  expect(programVersion(program)).toBe('2.3.4');
  writeFileSync(join(folder, 'package.json'), '{ "version": "5.0.0" }');
  expect(programVersion(program)).toBe('5.0.0');
});
