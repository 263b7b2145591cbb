import { useRef } from 'preact/hooks';
import type { MeshMap, Service } from './api.ts';

/** The pieces of work and the errors of a service, in a second. */
export interface Rate {
  work: number;
  errors: number;
}

export interface Change {
  time: number;
  text: string;
  kind: 'came' | 'went';
}

interface Seen {
  time: number;
  counts: Map<string, Rate>;
}

const mostChanges = 30;

/** Compares each map with the one before: returns the rates of services, and the replicas that came and went. */
export function useRates(map: MeshMap | undefined): {
  rates: ReadonlyMap<string, Rate>;
  changes: readonly Change[];
} {
  const memory = useRef<{ seen?: Seen; rates: Map<string, Rate>; changes: Change[] }>({
    rates: new Map(),
    changes: [],
  });
  const { seen } = memory.current;
  if (!map || map.time === seen?.time) return memory.current;
  const counts = countsOf(map);
  const rates = new Map<string, Rate>();
  const changes: Change[] = [];
  if (seen) {
    const seconds = (map.time - seen.time) / 1_000;
    for (const [id, now] of counts) {
      const before = seen.counts.get(id);
      const name = serviceOf(id);
      if (before) {
        const old = rates.get(name) ?? { work: 0, errors: 0 };
        rates.set(name, {
          work: old.work + Math.max(0, now.work - before.work) / seconds,
          errors: old.errors + Math.max(0, now.errors - before.errors) / seconds,
        });
      } else changes.push({ time: map.time, kind: 'came', text: `${replicaOf(id)} came up` });
    }
    for (const id of seen.counts.keys())
      if (!counts.has(id)) changes.push({ time: map.time, kind: 'went', text: `${replicaOf(id)} is gone` });
  }
  memory.current = {
    seen: { time: map.time, counts },
    rates,
    changes: [...changes, ...memory.current.changes].slice(0, mostChanges),
  };
  return memory.current;
}

/** Returns the counters of each replica. */
function countsOf({ agents, tools }: MeshMap): Map<string, Rate> {
  const of = (kind: string, services: readonly Service[]) =>
    services.flatMap(({ name, replicas }) =>
      replicas.map(({ replica, work = 0, requests = 0, errors = 0 }): [string, Rate] => [
        `${kind} ${name}\n${replica}`,
        { work: work + requests, errors },
      ]),
    );
  return new Map([...of('agent', agents), ...of('tool', tools)]);
}

const serviceOf = (id: string) => id.split('\n')[0] ?? '';
const replicaOf = (id: string) => id.split('\n')[1] ?? '';
