import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

/** The libraries that each library may import. No library imports upwards. */
const mayImport: Record<string, readonly string[]> = {
  protocol: [],
  agent: ['protocol'],
  service: ['protocol'],
  bus: ['protocol'],
  store: ['protocol', 'agent'],
  mesh: ['protocol', 'agent', 'bus', 'store', 'service'],
  cli: ['protocol', 'agent', 'bus', 'store', 'mesh', 'service', 'testing', 'gateway', 'keeper'],
  testing: ['protocol'],
  // It runs in browsers, and needs nothing of the mesh.
  client: [],
  // The package that users install. It has no code of its own, and brings the gateway and the keeper.
  agentmesh: ['protocol', 'agent', 'bus', 'store', 'mesh', 'service', 'cli', 'testing', 'gateway', 'keeper'],
};

interface Package {
  folder: string;
  manifest: {
    name: string;
    version?: string;
    private?: boolean;
    license?: string;
    type?: string;
    description?: string;
    exports?: Record<string, string>;
    engines?: Record<string, string>;
    files?: string[];
    bin?: Record<string, string>;
    publishConfig?: { bin?: Record<string, string>; exports: Record<string, Record<string, string>> };
    dependencies?: Record<string, string>;
    peerDependencies?: Record<string, string>;
    devDependencies?: Record<string, string>;
  };
}

function packages(): Package[] {
  const parents = ['libs', 'services', 'services/agents', 'services/tools'];
  const folders = parents.flatMap((parent) =>
    readdirSync(join(root, parent)).map((name) => join(parent, name)),
  );
  return [...folders, 'deploy', 'test', 'test/bench'].flatMap((folder) => {
    const file = join(root, folder, 'package.json');
    const exists = statSync(file, { throwIfNoEntry: false }) !== undefined;
    return exists ? [{ folder, manifest: JSON.parse(readFileSync(file, 'utf8')) }] : [];
  });
}

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (['node_modules', 'dist'].includes(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sources(path);
    return entry.name.endsWith('.ts') ? [path] : [];
  });
}

/** Tells whether only developers run a file: it makes the page of the console, the dashboards, or the packages. */
const isOfMaker = (file: string) =>
  /^(?:services\/gateway\/page|deploy\/monitoring|deploy\/packages)\//.test(file);
const isTest = (file: string) => /\.test\.ts$|\.fixture\.ts$|\/(?:conformance|checks)\//.test(file);
const read = (file: string) => readFileSync(join(root, file), 'utf8');

function imports(file: string): string[] {
  const found = read(file).matchAll(/(?:\bfrom\s+|\bimport\s+|\bimport\s*\(\s*)'([^']+)'/g);
  return [...found].map(([, name]) => name ?? '');
}

/** Returns the package of a bare import: `@agentmesh/bus/conformance` → `@agentmesh/bus`. */
const packageOf = (name: string) =>
  name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');

const libraries = packages().filter(({ folder }) => folder.startsWith('libs/'));
const services = packages().filter(({ folder }) => folder.startsWith('services/'));
const isPublished = (folder: string) =>
  folder.startsWith('libs/') || ['services/gateway', 'services/keeper'].includes(folder);
const published = packages().filter(({ folder }) => isPublished(folder));
/** Returns the compiled file of a source, without its extension. */
const builtOf = (source: string) => source.replace('./src/', './dist/').replace(/\.ts$/, '');

describe('the architecture', () => {
  it.each(libraries)('$folder imports only libraries below it', ({ folder }) => {
    const name = folder.slice('libs/'.length);
    const allowed = mayImport[name];
    expect(allowed, `libs/${name} is not in the table of layers`).toBeDefined();
    for (const file of sources(folder).filter((each) => !isTest(each))) {
      const used = imports(file).filter((each) => each.startsWith('@agentmesh/'));
      for (const each of used) {
        expect([`@agentmesh/${name}`, ...(allowed ?? []).map((lib) => `@agentmesh/${lib}`)], file).toContain(
          packageOf(each),
        );
      }
    }
  });

  it('libs/agent uses neither NATS nor Redis', () => {
    for (const file of sources('libs/agent')) {
      expect(
        imports(file).filter((name) => /nats|redis/i.test(name)),
        file,
      ).toEqual([]);
    }
  });

  it('stores are in the libraries that their names demand', () => {
    const homes: Record<string, string> = { InMemory: 'agent', File: 'agent', Redis: 'store', Mesh: 'mesh' };
    const store =
      /^export class (InMemory|File|Redis|Mesh|\w+?)(\w*) (?:extends|implements) \w*(?:Service|Invocations|Leases|Log|Calls|Records)\b/gm;
    const found = libraries
      .flatMap(({ folder }) => sources(folder))
      .filter((file) => !isTest(file))
      .flatMap((file) =>
        [...read(file).matchAll(store)].map(([, kind = '', rest]) => ({ file, kind, rest })),
      );
    expect(found.length).toBeGreaterThan(15);
    for (const { file, kind, rest } of found)
      expect(file, `${kind}${rest}`).toMatch(new RegExp(`^libs/${homes[kind] ?? 'none'}/`));
  });

  it('services do not import each other', () => {
    const names = services.map(({ manifest }) => manifest.name);
    for (const { folder } of services) {
      for (const file of sources(folder)) {
        expect(
          imports(file).filter((name) => names.includes(packageOf(name))),
          file,
        ).toEqual([]);
      }
    }
  });

  it('agents, tools and examples use the public door of libs/agent alone', () => {
    const folders = ['services/agents', 'services/tools', 'docs/examples'];
    const users = folders
      .flatMap(sources)
      .filter((file) => imports(file).includes('@agentmesh/agent/internal'));
    expect(users).toEqual([]);
  });

  it('no import leaves its package by a path', () => {
    for (const { folder } of packages().filter((each) => !['deploy', 'test'].includes(each.folder))) {
      for (const file of sources(folder)) {
        for (const name of imports(file).filter((each) => each.startsWith('.'))) {
          const target = relative(folder, join(dirname(file), name));
          expect(target.startsWith('..'), `${file} imports ${name}`).toBe(false);
        }
      }
    }
  });

  it.each(packages())('$folder declares every package it imports', ({ folder, manifest }) => {
    const own = sources(folder).filter((file) => folder !== 'test' || !file.startsWith('test/bench'));
    for (const file of own) {
      const declared = {
        ...manifest.dependencies,
        ...manifest.peerDependencies,
        ...(isTest(file) || isOfMaker(file) || !manifest.dependencies ? manifest.devDependencies : {}),
      };
      const bare = imports(file).filter((name) => !name.startsWith('.') && !name.startsWith('node:'));
      for (const name of bare.map(packageOf)) {
        if (name !== manifest.name) expect(Object.keys(declared), file).toContain(name);
      }
    }
  });

  it('no deployed package needs @agentmesh/testing', () => {
    // The command runs on the machines of developers, where it starts servers and scripted models.
    const ofDevelopers = ['libs/testing', 'libs/cli', 'libs/agentmesh'];
    const deployed = [...libraries, ...services].filter(({ folder }) => !ofDevelopers.includes(folder));
    for (const { folder, manifest } of deployed) {
      expect(Object.keys(manifest.dependencies ?? {}), folder).not.toContain('@agentmesh/testing');
      for (const file of sources(folder).filter((each) => !isTest(each)))
        expect(imports(file).map(packageOf), file).not.toContain('@agentmesh/testing');
    }
  });

  it('subjects and keys are made only in libs/protocol', () => {
    const literal = /[`'"](?:mesh\.v1\.|am:|[^`'"\n]*\$\{[^}]+\}\.v1\.)/;
    const files = [...libraries, ...services].flatMap(({ folder }) => sources(folder));
    for (const file of files.filter((each) => !each.startsWith('libs/protocol/') && !isTest(each))) {
      expect(
        read(file)
          .split('\n')
          .filter((line) => literal.test(line)),
        file,
      ).toEqual([]);
    }
  });

  it.each(packages())('$folder has the shape of all packages', ({ folder, manifest }) => {
    expect(manifest).toMatchObject({
      version: '0.1.0',
      license: 'Apache-2.0',
      type: 'module',
    });
    expect(manifest.private).toBe(isPublished(folder) ? undefined : true);
    expect(manifest.name).toMatch(folder === 'libs/agentmesh' ? /^agentmesh$/ : /^@agentmesh\/[a-z-]+$/);
    expect(manifest.description?.length).toBeGreaterThan(10);
    for (const target of Object.values(manifest.exports ?? {})) {
      expect(
        statSync(join(root, folder, target), { throwIfNoEntry: false }),
        `${folder} exports ${target}`,
      ).toBeDefined();
    }
  });

  it.each(published)('$folder is published as compiled files, without its tests', ({ folder, manifest }) => {
    expect(manifest.engines).toEqual({ node: '>=22.12' });
    const compiled = ['dist/**/*.js', 'dist/**/*.d.ts', 'dist/**/*.js.map'];
    const page = folder === 'services/gateway' ? ['console/*'] : [];
    expect(manifest.files).toEqual([...compiled, ...page]);
    const sources = Object.entries(manifest.exports ?? {}).filter(([door]) => door !== './conformance');
    const built = sources
      .filter(([, source]) => !isTest(source))
      .map(([door, source]) => [
        door,
        { types: `${builtOf(source)}.d.ts`, default: `${builtOf(source)}.js` },
      ]);
    expect(manifest.publishConfig?.exports).toEqual(Object.fromEntries(built));
    for (const [command, source] of Object.entries(manifest.bin ?? {}))
      expect(manifest.publishConfig?.bin?.[command]).toBe(`${builtOf(source)}.js`);
  });

  it.each(published)('$folder needs only published packages, and shares its peers', ({ manifest }) => {
    const names = published.map((each) => each.manifest.name);
    const needed = Object.keys(manifest.dependencies ?? {});
    expect(names).toEqual(expect.arrayContaining(needed.filter((name) => /^@?agentmesh(?:\/|$)/.test(name))));
    // A program with two copies of one of them would have two classes of the same name.
    expect(needed).not.toContain('zod');
    expect(needed).not.toContain('@google/genai');
    for (const name of ['zod', '@google/genai'])
      expect([undefined, 'catalog:peers']).toContain(manifest.peerDependencies?.[name]);
  });

  it.each(services)('$folder starts in a main.ts of 20 lines at most', ({ folder }) => {
    expect(read(join(folder, 'src/main.ts')).split('\n').length).toBeLessThanOrEqual(21);
  });

  it('the lock file and the manifests hold no address of a registry', () => {
    for (const file of [
      'pnpm-lock.yaml',
      'package.json',
      ...packages().map(({ folder }) => `${folder}/package.json`),
    ]) {
      expect(read(file).match(/^.*(?:resolution|tarball|registry).*https?:.*$/gm), file).toBeNull();
    }
  });

  it('every dependency has an exact version', () => {
    for (const { folder, manifest } of packages()) {
      const versions = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
      const loose = versions.filter(
        ([, version]) => !/^(?:workspace:\*|catalog:|(?:npm:[a-z-]+@)?\d+\.\d+\.\d+)$/.test(version),
      );
      expect(loose, folder).toEqual([]);
    }
  });
});
