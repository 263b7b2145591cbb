import { buildServer } from '@agentmesh/gateway/server';
import type { Mesh } from '@agentmesh/mesh';
import type { Site } from './start-process.ts';

export type GatewayServer = ReturnType<typeof buildServer>;

/** Makes the HTTP server of a gateway, which listens nowhere: requests are injected. */
export async function startGateway(
  mesh: Mesh,
  { log, losesFrames }: Pick<Site, 'log' | 'losesFrames'>,
): Promise<GatewayServer> {
  const connected = { ...mesh, problems: async () => [], async [Symbol.asyncDispose]() {} };
  const limits = { runTimeoutMs: 600_000, unreadMs: 30_000, uploadLimit: 1_000_000 };
  const server = buildServer(
    {
      ...{ mesh: connected, log, stopping: new AbortController().signal },
      config: { ...limits, whenAbsent: 'enqueue' },
    },
    {
      ...{ bodyLimit: 1_000_000, requestTimeoutMs: 300_000, httpHost: '127.0.0.1', allowedHosts: undefined },
      authenticators: [
        { way: 'none', wants: 'anything', authenticate: async () => ({ via: 'none', roles: ['admin'] }) },
      ],
    },
  );
  if (losesFrames)
    server.addHook('onRequest', async (_request, { raw }) => {
      const write = raw.write.bind(raw);
      raw.write = (chunk: unknown) => String(chunk).includes('functionCall') || write(chunk);
    });
  await server.ready();
  return server;
}
