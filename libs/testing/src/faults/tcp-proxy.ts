import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../processes/free-port.ts';

/** A direction of bytes; `up` is from client to server. */
export type Direction = 'up' | 'down';

export interface TcpProxyOptions {
  host: string;
  port: number;
  /**
   * Makes a function that changes the bytes of one connection. The maker is called once per connection and
   * direction; the function that it returns gets the bytes piece by piece.
   */
  rewrite?: (direction: Direction) => (bytes: Buffer) => Buffer;
}

/** A proxy between clients and a server on loopback, which plays the network between them. */
export interface TcpProxy extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** The number of open connections. */
  readonly connections: number;
  /** Ends all connections with a reset. Still accepts new connections. */
  cut(): void;
  /** Ends all connections and accepts no new connections until `heal`. */
  refuse(): void;
  /**
   * Holds back all bytes in both directions without closing a connection, as a firewall may do. Ends with
   * `heal`.
   */
  stall(): void;
  /** Delays each piece of bytes by a time in ms; 0 for no delay. */
  delay(ms: number): void;
  /** Ends `refuse`, `stall` and `delay`. The held bytes pass. */
  heal(): void;
}

/** Starts a proxy for one server. Clients use its address instead of the server's. */
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

/** Makes the state of the network, which all connections share. */
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
    /** Passes one piece after the other, in order. */
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
