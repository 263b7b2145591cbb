import { Graph, layout } from '@dagrejs/dagre';
import type { MeshMap, Service } from './api.ts';

export const boxWidth = 236;
export const boxHeight = 58;

/** A service as a box of the drawing; `x` and `y` are its upper left corner. */
export interface Box {
  kind: 'agent' | 'tool';
  service: Service;
  x: number;
  y: number;
}

/** A line between two boxes. */
export interface Line {
  from: string;
  to: string;
  how: 'transfer' | 'call';
  path: string;
  /** The end of the line: a text stands before it, because lines of one service lie on each other at their begin. */
  end: Point;
}

export interface Drawing {
  width: number;
  height: number;
  boxes: Box[];
  lines: Line[];
}

/** Places the services in layers, from callers to callees. */
export function draw({ agents, tools }: Pick<MeshMap, 'agents' | 'tools'>): Drawing {
  const graph = new Graph({ multigraph: false });
  graph.setGraph({ rankdir: 'LR', nodesep: 16, ranksep: 100, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  const services = [
    ...agents.map((service) => ({ kind: 'agent' as const, service })),
    ...tools.map((service) => ({ kind: 'tool' as const, service })),
  ];
  for (const { kind, service } of services)
    graph.setNode(nodeOf(kind, service.name), { width: boxWidth, height: boxHeight });
  const links = agents.flatMap(({ name, calls = [] }) =>
    calls.map((link) => ({ ...link, from: nodeOf('agent', name), to: nodeOf(link.kind, link.to) })),
  );
  for (const { from, to } of links) if (from !== to) graph.setEdge(from, to);
  layout(graph);
  const boxes = services.map(({ kind, service }) => {
    const { x, y } = graph.node(nodeOf(kind, service.name)) as { x: number; y: number };
    return { kind, service, x: x - boxWidth / 2, y: y - boxHeight / 2 };
  });
  const boxOf = new Map(boxes.map((box) => [nodeOf(box.kind, box.service.name), box]));
  const lines = links.flatMap(({ from, to, how }) => {
    const { points = [] } = (graph.edge(from, to) ?? {}) as { points?: Point[] };
    const [source, target] = [boxOf.get(from), boxOf.get(to)];
    if (!source || !target || points.length < 2) return [];
    const way = fromSide(source, target, points);
    return [{ from, to, how, path: curve(way), end: way.at(-1) ?? { x: 0, y: 0 } }];
  });
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return { width, height, boxes, lines };
}

export function nodeOf(kind: 'agent' | 'tool', name: string): string {
  return `${kind} ${name}`;
}

/** Names a line by its ends. */
export function lineOf(from: string, to: string, how: Line['how']): string {
  return `${from} ${to} ${how}`;
}

interface Point {
  x: number;
  y: number;
}

/** Lets a line to a later layer begin and end at the middles of the sides: its way does not cross a neighbour. */
function fromSide(source: Box, target: Box, points: readonly Point[]): Point[] {
  if (target.x <= source.x) return [...points];
  const start = { x: source.x + boxWidth, y: source.y + boxHeight / 2 };
  const end = { x: target.x, y: target.y + boxHeight / 2 };
  const gap = (end.x - start.x) / 3;
  const inner = points.length > 3 ? points.slice(1, -1) : [];
  return [start, { x: start.x + gap, y: start.y }, ...inner, { x: end.x - gap, y: end.y }, end];
}

/** Returns a smooth path through points: each is the control point of a curve between the middles around it. */
function curve(points: readonly Point[]): string {
  const [first, ...rest] = points;
  const last = rest.at(-1);
  if (!first || !last) return '';
  const curves = rest.slice(0, -1).map((point, at) => {
    const next = rest[at + 1] ?? last;
    const isLast = at === rest.length - 2;
    const end = isLast ? last : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    return `Q${point.x},${point.y} ${end.x},${end.y}`;
  });
  const way = curves.length > 0 ? curves.join(' ') : `L${last.x},${last.y}`;
  return `M${first.x},${first.y} ${way}`;
}
