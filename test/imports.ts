import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** An import of one file by another; paths are relative to the folder that was read. */
export interface Import {
  from: string;
  to: string;
  /** Tells whether only types are imported, so that the import does not exist at run time. */
  isType: boolean;
}

const statement = /^(?:import|export)\s+(type\s+)?([^;'"]*?)\s*from\s*'(\.[^']+)';|\bimport\('(\.[^']+)'\)/gm;

/** Lists the TypeScript files below a folder, as paths relative to it. */
export function sourcesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
    .sort();
}

/** Reads the imports between the files of a folder. */
export function importsIn(folder: string, files = sourcesIn(folder)): Import[] {
  return files.flatMap((from) => importsOf(from, readFileSync(join(folder, from), 'utf8')));
}

/** Reads the relative imports out of the text of a file. */
export function importsOf(from: string, text: string): Import[] {
  return [...text.matchAll(statement)].map(([, type, names = '', path, dynamic]) => ({
    from,
    to: normalize(join(dirname(from), path ?? dynamic ?? '')),
    isType: path !== undefined && (type !== undefined || holdsTypesAlone(names)),
  }));
}

function holdsTypesAlone(names: string): boolean {
  const each = names
    .replace(/[{}]/g, '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  return each.length > 0 && each.every((name) => name.startsWith('type '));
}

/**
 * Finds the groups of nodes that reach each other, by Tarjan's algorithm; a node without a circle is in no
 * group.
 */
export function circlesIn(edges: readonly { from: string; to: string }[]): string[][] {
  const next = new Map<string, string[]>();
  for (const { from, to } of edges) {
    next.set(from, [...(next.get(from) ?? []), to]);
    if (!next.has(to)) next.set(to, []);
  }
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  const visit = (node: string): number => {
    const number = order.size;
    order.set(node, number);
    lowest.set(node, number);
    open.push(node);
    for (const each of next.get(node) ?? []) {
      const reached = order.has(each) ? (open.includes(each) ? order.get(each) : undefined) : visit(each);
      lowest.set(node, Math.min(lowest.get(node) ?? number, reached ?? number));
    }
    const low = lowest.get(node) ?? number;
    if (low === number) {
      const group = open.splice(open.indexOf(node));
      if (group.length > 1) circles.push(group.sort());
    }
    return low;
  };
  for (const node of next.keys()) if (!order.has(node)) visit(node);
  return circles;
}
