import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';

export const deployFolder = fileURLToPath(new URL('..', import.meta.url));

/**
 * Reads the documents of a YAML file. With `merge` it resolves `<<`, as compose does.
 *
 * @throws Error with the line when it is not YAML
 */
export function readYaml(path: string, merge = false): unknown[] {
  return readManifests(readFileSync(path, 'utf8'), path, merge);
}

/** Reads the documents of a text in YAML; empty ones are left out. @throws Error with the line when it is not YAML */
export function readManifests(text: string, where: string, merge = false): object[] {
  return parseAllDocuments(text, { merge }).flatMap((document) => {
    const [problem] = document.errors;
    if (problem) throw new Error(`${where}: ${problem.message}`);
    const value: unknown = document.toJS();
    return typeof value === 'object' && value !== null ? [value] : [];
  });
}
