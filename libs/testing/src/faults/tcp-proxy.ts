import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../processes/free-port.ts';

/** `up`: from client to server. */
export type Direction = 'up' | 'down';

export interface TcpProxyOptions {
  host: string;
  port: number;
  /** Changes what flows through one connection: called once per connection and direction, gets its bytes piece by piece. */
  rewrite?: (direction: Direction) => (bytes: Buffer) => Buffer;
}

/** Stands between clients and a server on loopback, and is the network between them. */
export interface TcpProxy extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Connections that are open now. */
  readonly connections: number;
  /** Ends every connection as a pulled cable that was noticed: with a reset. New ones are taken. */
  cut(): void;
  /** Ends every connection and takes no new one until `heal`. */
  refuse(): void;
  /** Nothing passes any more, in both directions, and nobody is told: the black hole of a firewall. Until `heal`. */
  stall(): void;
  /** Every piece is so many ms late; 0: none is. */
  delay(ms: number): void;
  /** Ends `refuse`, `stall` and `delay`; what was held back passes. */
  heal(): void;
}

/** Starts a proxy for one server. Give its address to the clients in place of the server's. */
export async function startTcpProxy(options: TcpProxyOptions): Promise<TcpProxy> {
  const { rewrite = () => (bytes: Buffer) => bytes } = options;
  const open = new Set<Socket>();
  const weather = createWeather();
  const server = createServer((client) => {
    if (weather.refusing) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(options.port, options.host);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => other.resetAndDestroy());
      socket.once('close', () => {
        open.delete(socket);
        other.destroy();
      });
    }
    client.pipe(weather.through(rewrite('up'))).pipe(upstream);
    upstream.pipe(weather.through(rewrite('down'))).pipe(client);
  });
  const host = '127.0.0.1';
  const port = await freePort();
  server.listen(port, host);
  await once(server, 'listening');
  const cut = () => {
    for (const socket of open) socket.resetAndDestroy();
  };
  return {
    host,
    port,
    get connections() {
      return open.size / 2;
    },
    cut,
    refuse() {
      weather.refusing = true;
      cut();
    },
    stall: () => weather.stall(),
    delay(ms) {
      weather.delayMs = ms;
    },
    heal: () => weather.heal(),
    async [Symbol.asyncDispose]() {
      server.close();
      cut();
      weather.heal();
      if (server.listening) await once(server, 'close');
    },
  };
}

/** What holds for all connections at a time. */
function createWeather() {
  let calm: PromiseWithResolvers<void> | undefined;
  const weather = {
    refusing: false,
    delayMs: 0,
    stall() {
      calm ??= Promise.withResolvers();
    },
    heal() {
      weather.refusing = false;
      weather.delayMs = 0;
      calm?.resolve();
      calm = undefined;
    },
    /** One piece after the other, so that the order stays. */
    through: (rewrite: (bytes: Buffer) => Buffer) =>
      new Transform({
        async transform(bytes: Buffer, _encoding, done) {
          if (weather.delayMs > 0) await pause(weather.delayMs);
          await calm?.promise;
          done(null, rewrite(bytes));
        },
      }),
  };
  return weather;
}
