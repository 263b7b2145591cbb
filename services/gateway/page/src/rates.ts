import { useRef } from 'preact/hooks';
import type { MeshMap, Service } from './api.ts';
import { lineOf, nodeOf } from './graph.ts';

/** The pieces of work and the errors of a service, or of a line between two, in a second. */
export interface Rate {
  work: number;
  errors: number;
}

export interface Change {
  time: number;
  text: string;
  kind: 'came' | 'went';
}

/** The counters of each replica, by what is counted: a service, or a line. */
interface Seen {
  time: number;
  replicas: Set<string>;
  counts: Map<string, Rate>;
}

const mostChanges = 30;
/** The time over which rates are taken, in ms: over one look they would jump. */
const spanMs = 10_000;

/** Compares each map with earlier ones: returns the rates of services and lines, and the replicas that came and went. */
export function useRates(map: MeshMap | undefined): {
  rates: ReadonlyMap<string, Rate>;
  changes: readonly Change[];
} {
  const memory = useRef<{ seen: Seen[]; rates: Map<string, Rate>; changes: Change[] }>({
    seen: [],
    rates: new Map(),
    changes: [],
  });
  const { seen } = memory.current;
  const before = seen.at(-1);
  if (!map || map.time === before?.time) return memory.current;
  const now = countsOf(map);
  const changes = before ? changesBetween(before, now) : [];
  const recent = [...seen, now].filter(({ time }) => time >= now.time - spanMs);
  memory.current = {
    seen: recent,
    rates: ratesIn(recent, now),
    changes: [...changes, ...memory.current.changes].slice(0, mostChanges),
  };
  return memory.current;
}

function changesBetween(before: Seen, { time, replicas }: Seen): Change[] {
  const came = [...replicas].filter((each) => !before.replicas.has(each));
  const went = [...before.replicas].filter((each) => !replicas.has(each));
  return [
    ...came.map((each): Change => ({ time, kind: 'came', text: `${each} came up` })),
    ...went.map((each): Change => ({ time, kind: 'went', text: `${each} is gone` })),
  ];
}

/** Returns the rates since the first look at each replica that is not too old. */
function ratesIn(seen: readonly Seen[], now: Seen): Map<string, Rate> {
  const rates = new Map<string, Rate>();
  for (const [id, { work, errors }] of now.counts) {
    const first = seen.find(({ replicas }) => replicas.has(replicaOf(id)));
    if (!first || first === now) continue;
    const since = first.counts.get(id) ?? { work: 0, errors: 0 };
    const seconds = (now.time - first.time) / 1_000;
    const place = placeOf(id);
    const sum = rates.get(place) ?? { work: 0, errors: 0 };
    rates.set(place, {
      work: sum.work + Math.max(0, work - since.work) / seconds,
      errors: sum.errors + Math.max(0, errors - since.errors) / seconds,
    });
  }
  return rates;
}

/** Returns the counters of each replica. */
function countsOf({ time, agents, tools }: MeshMap): Seen {
  const of = (kind: 'agent' | 'tool', services: readonly Service[]) =>
    services.flatMap(({ name, replicas }) =>
      replicas.flatMap(({ replica, work = 0, requests = 0, errors = 0, calls = [] }): [string, Rate][] => [
        [`${nodeOf(kind, name)}\n${replica}`, { work: work + requests, errors }],
        ...calls.map((call): [string, Rate] => [
          `${lineOf(nodeOf(kind, name), nodeOf(call.kind, call.to), call.how)}\n${replica}`,
          { work: call.count, errors: call.errors },
        ]),
      ]),
    );
  const counts = new Map([...of('agent', agents), ...of('tool', tools)]);
  return { time, counts, replicas: new Set([...counts.keys()].map(replicaOf)) };
}

const placeOf = (id: string) => id.split('\n')[0] ?? '';
const replicaOf = (id: string) => id.split('\n')[1] ?? '';
