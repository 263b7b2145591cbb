import { once } from 'node:events';
import { createServer } from 'node:net';

// These ports are below the range from which kernels take the ports of outgoing connections. A client that
// reconnects to a stopped server in that range can get the server's own port and connect to itself; then the
// server cannot come back.
const lowest = 12_000;
const highest = 32_000;

/** The ports that this process has tried: the one for whom a port was may not listen on it yet, or not at the moment. */
const tried = new Set<number>();

/**
 * Returns a loopback port that was free a moment ago, and that this process was not given before. Another process may
 * take it first; then the caller must try again.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest));
    if (tried.has(port)) continue;
    tried.add(port);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port between ${lowest} and ${highest} on 127.0.0.1 after 100 tries`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
