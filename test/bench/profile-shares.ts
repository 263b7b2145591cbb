/**
 * Prints where the CPU time of profiled processes went, by package, without idle time and without the loading of
 * modules: of each profile in the folder of `npm run bench -- --profile <folder>`.
 *
 * `node_modules/.bin/node test/bench/profile-shares.ts <folder>`
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Profiler } from 'node:inspector';
import { join } from 'node:path';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('name the folder of the profiles');

type Node = Profiler.ProfileNode;

/** Rows that have less than this share everywhere are one row. */
const least = 0.015;

function groupOf({ callFrame: { functionName, url } }: Node): string {
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (/^(?:writev|write(?:Buffer|Utf8String|Latin1String))$/.test(functionName) && url === '')
    return 'writes to sockets';
  if (url === '') return 'functions of V8';
  if (url.startsWith('node:')) return 'Node.js';
  const library = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(url)?.[1];
  if (library !== undefined) return library.startsWith('@nats-io') ? 'nats.js' : library;
  const own = /\/(libs\/[^/]+)\//.exec(url)?.[1];
  return own ?? 'the benchmark';
}

interface Shares {
  process: string;
  totalMs: number;
  byGroup: ReadonlyMap<string, number>;
}

function sharesOf(profile: Profiler.Profile, file: string): Shares {
  const { nodes, samples = [], timeDeltas = [] } = profile;
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(
    nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
  );
  const isLoading = (id: number | undefined): boolean => {
    for (let at = id; at !== undefined; at = parents.get(at))
      if (byId.get(at)?.callFrame.url.startsWith('node:internal/modules')) return true;
    return false;
  };
  const counted = new Map<number, string | undefined>();
  for (const node of nodes) {
    const isIdle = /^\((?:idle|program|root)\)$/.test(node.callFrame.functionName);
    counted.set(node.id, isIdle || isLoading(node.id) ? undefined : groupOf(node));
  }
  const times = new Map<string, number>();
  samples.forEach((id, at) => {
    const group = counted.get(id);
    if (group !== undefined) times.set(group, (times.get(group) ?? 0) + (timeDeltas[at] ?? 0));
  });
  const total = [...times.values()].reduce((sum, time) => sum + time, 0);
  const entry = nodes.map(({ callFrame: { url } }) => /test\/bench\/(?!end-on)(.*)\.ts$/.exec(url)?.[1]);
  const named = entry.find(
    (name) => name !== undefined && /(?:^|\/)(?:agents|tool-agent|floor-agent|main)$/.test(name),
  );
  const byGroup = new Map([...times].map(([group, time]) => [group, time / total]));
  return { process: named ?? file, totalMs: total / 1_000, byGroup };
}

const all = readdirSync(folder)
  .filter((file) => file.endsWith('.cpuprofile'))
  .map((file) => sharesOf(JSON.parse(readFileSync(join(folder, file), 'utf8')), file));
const shareIn = (group: string) => all.map(({ byGroup }) => byGroup.get(group) ?? 0);
const groups = [...new Set(all.flatMap(({ byGroup }) => [...byGroup.keys()]))]
  .map((group) => ({ group, shares: shareIn(group) }))
  .sort((a, b) => Math.max(...b.shares) - Math.max(...a.shares));
const large = groups.filter(({ shares }) => shares.some((share) => share >= least));
const rest = all.map((_, at) => 1 - large.reduce((sum, { shares }) => sum + (shares[at] ?? 0), 0));
const row = (name: string, cells: readonly string[]) => console.log(`| ${name} | ${cells.join(' | ')} |`);
const percent = (shares: readonly number[]) => shares.map((share) => `${(share * 100).toFixed(0)} %`);
row(
  'self time',
  all.map(({ process: name }) => name),
);
console.log(`|---|${all.map(() => '---:').join('|')}|`);
for (const { group, shares } of large) row(group, percent(shares));
row('the rest', percent(rest));
row(
  'all, in ms',
  all.map(({ totalMs }) => totalMs.toFixed(0)),
);
