import { setTimeout as delay } from 'node:timers/promises';
import { provisionUser } from '@agentmesh/mesh';
import { pauseProcess, type RestartableServer } from '@agentmesh/testing';
import type { Field } from '../field.ts';
import { leaderOf } from '../queues.ts';

/** Returns a NATS server to hit. In a cluster, every second time it is the leader of the runs. */
export async function natsServerOf(
  { nats, natsUrl, login }: Field,
  which: number,
): Promise<RestartableServer> {
  const [first] = nats;
  if (!first) throw new Error('there is no NATS server');
  if (nats.length === 1) return first;
  const leader = which % 2 === 0 ? await leaderOf(natsUrl, login(provisionUser)) : undefined;
  return nats.find((node) => 'name' in node && node.name === leader) ?? nats[which % nats.length] ?? first;
}

/** Kills or stops a server, and brings it back after a time, or at the signal. */
export async function stopServer(
  server: RestartableServer,
  how: 'SIGKILL' | 'SIGSTOP',
  forMs: number,
  signal: AbortSignal,
): Promise<void> {
  if (how === 'SIGSTOP') {
    using _paused = pauseProcess(server.pid);
    await delay(forMs, undefined, { signal }).catch(() => {});
    return;
  }
  await server.kill();
  await delay(forMs, undefined, { signal }).catch(() => {});
  await server.start();
}
