import { type RedisOptions, type Server, startNats, startRedis } from '@agentmesh/testing/servers';
import { superviseStarts } from './supervise.ts';

/** A server of this mesh, which keeps its address when it is started again. */
export interface OwnServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
}

export interface Watch {
  /** Tells whether to start a server again that has ended by itself. */
  restarts: boolean;
  /** Prints reports. */
  say: (text: string) => void;
  /** Aborted when the mesh stops. */
  signal: AbortSignal;
}

/** Starts NATS. */
export function startOwnNats(options: Parameters<typeof startNats>[0], watch: Watch): Promise<OwnServer> {
  return keep('nats-server', watch, (onEnd, place) => startNats({ ...options, ...place, onEnd }));
}

/** Starts Redis. `users` returns its users at each start: services may have joined since the last one. */
export function startOwnRedis(
  { users, ...options }: Omit<RedisOptions, 'users'> & { users?: () => Promise<string> },
  watch: Watch,
): Promise<OwnServer> {
  return keep('redis-server', watch, async (onEnd, place) =>
    startRedis({ ...options, ...(users && { users: await users() }), ...place, onEnd }),
  );
}

type Start = (onEnd: (how: string) => void, place?: { port: number; dataDir: string }) => Promise<Server>;

/** Starts a server. Reports its end in one line, and starts it again on the same port and folder. */
async function keep(name: string, { restarts, say, signal }: Watch, start: Start): Promise<OwnServer> {
  let server: Server;
  const onEnd = (how: string) => {
    if (signal.aborted) return;
    const what = `${name} (pid ${server.pid}) ended: ${how}`;
    if (restarts) void restart(what);
    else say(what);
  };
  const restart = superviseStarts({
    name,
    say,
    signal,
    async start() {
      const { port, dataDir } = server;
      server = await start(onEnd, { port, dataDir });
      // The mesh was stopped meanwhile.
      if (signal.aborted) await server.stop();
    },
  });
  const first = await start(onEnd);
  server = first;
  return { url: first.url, port: first.port, [Symbol.asyncDispose]: () => server.stop() };
}
