import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/** The channel on which Node.js announces each socket of a client (`node:diagnostics_channel`). */
const socketChannel = 'net.client.socket';

/**
 * Tries to connect, and closes the sockets of the try when it fails. The NATS client leaves its socket open
 * when a server accepts the connection and then says nothing; such a socket keeps the process alive.
 */
export async function closingSockets<T>(connect: () => Promise<T>): Promise<T> {
  const context = new AsyncLocalStorage<true>();
  const sockets: Socket[] = [];
  const note = (message: unknown) => {
    if (context.getStore()) sockets.push((message as { socket: Socket }).socket);
  };
  subscribe(socketChannel, note);
  try {
    return await context.run(true, connect);
  } catch (thrown) {
    for (const socket of sockets) socket.destroy();
    throw thrown;
  } finally {
    unsubscribe(socketChannel, note);
  }
}
