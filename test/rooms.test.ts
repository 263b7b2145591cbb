import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { circlesIn, importsIn, importsOf, sourcesIn } from './imports.ts';

const root = join(import.meta.dirname, '..');

/**
 * The rooms of each package, from the bottom to the top. A file imports only from its own room and from
 * earlier ones.
 */
const rooms: Record<string, readonly string[]> = {
  'libs/agent/src': [
    ...['events', 'schema', 'sessions', 'sessions/in-memory', 'credentials', 'artifacts', 'memory'],
    ...['telemetry', 'journal', 'base'],
    ...['models/http', 'models/answers', 'models/chat'],
    ...['models', 'prompt', 'code-executors', 'compaction', 'auth', 'questions', 'tools', 'plugins'],
    ...['flow', 'workflow', 'invocation', 'agent-tool', 'runner'],
  ],
  'libs/protocol/src': ['errors', 'names', 'parsing', 'secrets', 'addresses', 'messages'],
  'libs/bus/src': [
    ...['bus', 'messages', 'claims', 'nats/wire', 'requests', 'work', 'nats/buckets', 'nats/work'],
    ...['discovery', 'nats/operator', 'connect', 'memory', 'nats'],
  ],
  'libs/store/src': [
    'scripts',
    'connection',
    'access',
    'identity',
    'limits',
    'calls',
    'data-keys',
    'credentials',
    'memory',
    'sessions/scripts',
    'sessions',
  ],
  'libs/mesh/src': [
    ...['mesh', 'artifacts', 'keeper', 'messages', 'answers', 'calls', 'remote', 'rights', 'accounts'],
    ...['fencing', 'runs', 'asks', 'client', 'user-data', 'serve', 'connect'],
  ],
  'libs/cli/src': [
    'command',
    'context',
    'local',
    'operate',
    'operate/join',
    'talk',
    'inspect',
    'dev',
    'render',
    'project/python',
    'project',
  ],
  'libs/service/src': ['traces', 'probes'],
  'libs/testing/src': ['processes', 'faults', 'models', 'servers'],
  'services/gateway/src': [
    ...['context', 'addresses', 'http', 'answers', 'access', 'params', 'contract', 'handlers/about', 'runs'],
    'web',
    ...['ag-ui', 'artifacts', 'events', 'memory', 'sessions', 'users', 'runs', 'mesh', 'dev'].map(
      (name) => `handlers/${name}`,
    ),
    'handlers',
  ],
};

/** The largest number of files in a room, tests included. */
const mostFiles = 22;

const isTest = (file: string) => /\.(?:test|fixture)\.ts$/.test(file);
const isSuite = (file: string) => /(?:^|\/)(?:conformance|checks)\//.test(file);
const roomOf = (file: string) => dirname(file);

describe.each(Object.entries(rooms))('the rooms of %s', (folder, order) => {
  const files = sourcesIn(join(root, folder));
  const sources = files.filter((file) => !isTest(file) && !isSuite(file));
  const imports = importsIn(join(root, folder), sources);
  /** Returns the position of a room. Files at the top level may import from every room. */
  const heightOf = (room: string) => (room === '.' ? order.length : order.indexOf(room));

  it('are exactly those of the list, and hold sources', () => {
    const found = new Set(sources.map(roomOf).filter((room) => room !== '.'));
    expect([...order].sort()).toEqual([...found].sort());
  });

  it('are in the README of the package, from the top to the bottom', () => {
    const readme = readFileSync(join(root, dirname(folder), 'README.md'), 'utf8');
    const listed = [...readme.matchAll(/^- `([\w-]+)\/`: /gm)].map(([, room = '']) => room);
    const fromTheTop = [...new Set(order.toReversed().map((room) => room.split('/')[0] ?? ''))];
    expect(listed.filter((room) => fromTheTop.includes(room))).toEqual(fromTheTop);
    const there = files.filter((file) => file.includes('/')).map((file) => file.split('/')[0] ?? '');
    expect(listed.toSorted()).toEqual([...new Set(there)].sort());
  });

  it('import only from rooms below them, types included', () => {
    const upwards = imports.filter(({ from, to }) => heightOf(roomOf(to)) > heightOf(roomOf(from)));
    expect(upwards.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });
});

const packages = [
  ...['protocol', 'agent', 'service', 'bus', 'store', 'mesh', 'cli', 'testing', 'client', 'agentmesh'].map(
    (name) => `libs/${name}/src`,
  ),
  'services/gateway/src',
  'services/keeper/src',
];

describe.each(packages)('the files of %s', (folder) => {
  const files = sourcesIn(join(root, folder));

  it('do not import each other in a circle at run time', () => {
    expect(circlesIn(importsIn(join(root, folder), files).filter(({ isType }) => !isType))).toEqual([]);
  });

  it(`are ${mostFiles} in a folder at most`, () => {
    const counts = Map.groupBy(files, roomOf);
    const full = [...counts].filter(([, each]) => each.length > mostFiles);
    expect(full.map(([room, each]) => `${room}: ${each.length}`)).toEqual([]);
  });

  it('have 300 lines at most', () => {
    const linesOf = (file: string) => readFileSync(join(root, folder, file), 'utf8').split('\n').length - 1;
    const sourceFiles = files.filter((file) => !isTest(file) && !isSuite(file));
    expect(sourceFiles.filter((file) => linesOf(file) > 300)).toEqual([]);
  });
});

describe('the reader of imports', () => {
  it('distinguishes imports of types from other imports', () => {
    const text = `import type { A } from './a.ts';
import { type B, type C } from '../b.ts';
import { type D, e } from './d.ts';
export * from './f.ts';
const g = await import('./g.ts');
`;
    const found = importsOf('room/file.ts', text).map(({ to, isType }) => [to, isType]);
    expect(found).toEqual([
      ['room/a.ts', true],
      ['b.ts', true],
      ['room/d.ts', false],
      ['room/f.ts', false],
      ['room/g.ts', false],
    ]);
  });

  it('finds circles, also from a node outside of them', () => {
    const edges = ['ab', 'bc', 'cb', 'cd', 'de', 'ef', 'fd'].map(([from = '', to = '']) => ({ from, to }));
    expect(circlesIn(edges)).toEqual([
      ['d', 'e', 'f'],
      ['b', 'c'],
    ]);
  });
});
