import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy before several gateways. */
export interface RoundRobin extends AsyncDisposable {
  readonly url: string;
  /** The number of connections that each gateway has got, by its address. */
  readonly counts: ReadonlyMap<string, number>;
  /** The first lines of the requests, each with the address of its gateway. */
  readonly requests: readonly { line: string; gateway: string }[];
}

/** Starts a proxy that gives each connection to the next of these gateways, and leaves out those that are away. */
export async function startRoundRobin(gateways: readonly string[]): Promise<RoundRobin> {
  const counts = new Map(gateways.map((url) => [url, 0]));
  const requests: { line: string; gateway: string }[] = [];
  const sockets = new Set<Socket>();
  let turn = 0;
  const pass = async (client: Socket) => {
    for (const _ of gateways) {
      const url = gateways[turn++ % gateways.length] ?? '';
      const { hostname, port } = new URL(url);
      const gateway = connect(Number(port), hostname);
      const isUp = await once(gateway, 'connect').then(
        () => true,
        () => false,
      );
      if (!isUp) continue;
      counts.set(url, (counts.get(url) ?? 0) + 1);
      client.on('data', (bytes) => {
        const [line] = /^[A-Z]+ \S+ HTTP/.exec(bytes.toString('latin1')) ?? [];
        if (line !== undefined) requests.push({ line, gateway: url });
      });
      for (const [from, to] of [
        [client, gateway],
        [gateway, client],
      ] as const) {
        from.on('error', () => to.destroy());
        // A gateway that dies leaves its clients without the end of their answers.
        from.on('close', () => to.destroy());
        from.pipe(to);
      }
      return;
    }
    client.destroy();
  };
  const server = createServer((client) => {
    sockets.add(client);
    client.on('close', () => sockets.delete(client));
    client.on('error', () => {});
    void pass(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    requests,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
