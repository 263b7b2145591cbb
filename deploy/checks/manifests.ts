import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';

export const deployFolder = fileURLToPath(new URL('..', import.meta.url));
export const base = join(deployFolder, 'kubernetes/base');
export const example = join(deployFolder, 'kubernetes/overlays/example');

/** Lists the files below a folder, relative to it. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

/**
 * Reads the documents of a YAML file. With `merge` it resolves `<<`, as compose does.
 *
 * @throws Error with the line when it is not YAML
 */
export function readYaml(path: string, merge = false): unknown[] {
  return parseAllDocuments(readFileSync(path, 'utf8'), { merge }).map((document) => {
    const problem = document.errors[0];
    if (problem) throw new Error(`${path}: ${problem.message}`);
    return document.toJS() as unknown;
  });
}

/** Reads a file of `NAME=value` lines, as configMapGenerator does. */
export function readEnv(path: string): Record<string, string> {
  const lines = readFileSync(path, 'utf8').split('\n');
  return Object.fromEntries(
    lines.filter((line) => line && !line.startsWith('#')).map((line) => line.split(/=(.*)/s).slice(0, 2)),
  );
}

/** The fields of a kustomization file that we use. */
export interface Kustomization {
  resources: string[];
  namespace?: string;
  images?: { name: string; newTag: string }[];
  labels?: unknown;
  configMapGenerator: { name: string; envs?: string[]; literals?: string[]; behavior?: string }[];
  patches?: { target: { kind: string }; patch: string }[];
}

export const kustomizationKeys = [
  'apiVersion',
  'kind',
  'namespace',
  'resources',
  'images',
  'labels',
  'configMapGenerator',
  'patches',
];

export function readKustomization(folder: string): Kustomization {
  return readYaml(join(folder, 'kustomization.yaml'))[0] as Kustomization;
}

/** Reads the manifests of the base, each with its file. */
export function baseManifests(): { file: string; manifest: unknown }[] {
  const files = filesBelow(base).filter((file) => file.endsWith('.yaml') && file !== 'kustomization.yaml');
  return files.flatMap((file) => readYaml(join(base, file)).map((manifest) => ({ file, manifest })));
}
