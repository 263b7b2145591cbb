import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { provisionUser } from '@agentmesh/mesh';
import type { Sample } from '@agentmesh/testing';
import { Redis } from 'ioredis';
import { now } from '../check/history.ts';
import { connectAs } from '../field/logins.ts';
import type { Field } from '../field.ts';

/** Measures the processes of a field every `everyMs`, until it is disposed. */
export function watchProcesses(field: Field, samples: Sample[], everyMs: number): AsyncDisposable {
  const over = new AbortController();
  const watching = (async () => {
    while (!over.signal.aborted) {
      samples.push({ at: now(), values: measureProcesses(field) });
      await delay(everyMs, undefined, { signal: over.signal }).catch(() => {});
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      over.abort();
      await watching;
    },
  };
}

/**
 * Measures the memory (in MiB) and the open descriptors of each process. A process that was started again has
 * the name of the process before it, so that the figures last as long as the soak. For the course of one process,
 * soak without the mix `kills`.
 */
function measureProcesses({ replicas, nats, redis }: Field): Sample['values'] {
  const processes = [
    ...replicas.map(({ life, pid }) => ({ name: life.replace(/#\d+$/, ''), pid })),
    ...nats.map(({ pid }, at) => ({ name: `nats/${at + 1}`, pid })),
    ...redis.nodes.map(({ pid }, at) => ({ name: `redis/${at + 1}`, pid })),
  ];
  return Object.fromEntries(
    processes.flatMap(({ name, pid }): [string, number][] => {
      const measured = measureProcess(pid);
      return measured
        ? [
            [`MiB ${name}`, measured.mib],
            [`descriptors ${name}`, measured.descriptors],
          ]
        : [];
    }),
  );
}

/** Reads the figures of a process from Linux; undefined when it has ended, and on other systems. */
function measureProcess(pid: number): { mib: number; descriptors: number } | undefined {
  try {
    const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    // A process that has ended and was not waited for yet has no memory.
    if (kib === undefined) return undefined;
    return { mib: Number(kib) / 1024, descriptors: readdirSync(`/proc/${pid}/fd`).length };
  } catch {
    return undefined;
  }
}

/** Measures the keys of Redis and the sizes of the streams of NATS, when the mesh is at rest. */
export async function measureRest(field: Field): Promise<Sample> {
  const [keys, streams] = await Promise.all([countKeys(field), streamSizes(field)]);
  return { at: now(), values: { 'keys of Redis': keys, ...streams } };
}

async function countKeys({ redis }: Field): Promise<number> {
  const primaries = redis.kind === 'single' ? redis.nodes : [await redis.primary()];
  const counts = await Promise.all(
    primaries.map(async ({ port, host }) => {
      const client = new Redis(port, host);
      const size = await client.dbsize();
      client.disconnect();
      return size;
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

interface StreamList {
  streams?: { config: { name: string }; state: { messages: number; bytes: number } }[];
}

async function streamSizes({ natsUrl, login }: Field): Promise<Sample['values']> {
  const connection = await connectAs(natsUrl, provisionUser, login(provisionUser));
  try {
    const reply = await connection.request('$JS.API.STREAM.LIST', '{}', { timeout: 10_000 });
    const { streams = [] } = reply.json<StreamList>();
    return Object.fromEntries(
      streams.flatMap(({ config, state }): [string, number][] => [
        [`messages ${config.name}`, state.messages],
        [`KiB ${config.name}`, state.bytes / 1024],
      ]),
    );
  } finally {
    await connection.close();
  }
}
