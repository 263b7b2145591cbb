import { type Mesh, startRun } from '@agentmesh/mesh';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Case } from '../cases.ts';
import { median } from '../median.ts';
import { appOf, hops, rawTokens, since, tokens } from './hops.ts';

/**
 * The cases of the delay of a token, from the model to the client: by one agent, by two and by three, and by a
 * publish and a subscription of nats.js. The time of a repetition is the median over the tokens of an answer.
 */
export function hopCases(mesh: Mesh, raw: NatsConnection): Case[] {
  const overMesh = async (hop: number): Promise<number> => {
    const app = appOf(hop);
    const { id: session } = await mesh.sessions.createSession({ appName: app, userId: 'hops' });
    const runConfig = { streamingMode: 'sse' as const };
    const run = await startRun(mesh, { app, user: 'hops', session, message: 'go on', runConfig });
    const delays: number[] = [];
    for await (const { partial, content } of run.events)
      if (partial) delays.push(since(content?.parts?.[0]?.text ?? ''));
    return middle(delays);
  };
  const overNats = async (): Promise<number> => {
    const delays: number[] = [];
    const replies = await raw.requestMany(rawTokens, '', {
      strategy: 'count',
      maxMessages: tokens,
      maxWait: 10_000,
    });
    for await (const reply of replies) delays.push(since(reply.string()));
    return middle(delays);
  };
  const shared = { inFlight: 1, count: 3 };
  return [
    { ...{ id: 'token-raw', name: 'token by nats.js', ...shared }, once: overNats },
    ...hops.map((hop) => ({
      ...{ id: `token-${hop}`, name: `token over ${hop} ${hop === 1 ? 'agent' : 'agents'}`, ...shared },
      once: () => overMesh(hop),
    })),
  ];
}

/** @throws Error when tokens are missing */
function middle(delays: number[]): number {
  if (delays.length !== tokens) throw new Error(`${delays.length} of ${tokens} tokens came`);
  return median(delays);
}
