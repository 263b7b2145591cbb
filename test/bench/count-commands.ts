import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

/** The time for which a piece of work may go on behind its answer, in ms. */
const restMs = 100;

/**
 * Counts what Redis does for a piece of work that runs alone: the requests that clients send, and all commands,
 * those within functions too.
 */
export async function countCommands(
  url: string,
  work: () => Promise<unknown>,
  trace?: (line: string) => void,
): Promise<{ requests: number; commands: number }> {
  let requests = 0;
  let commands = 0;
  const monitor = await openMonitor(url, (line) => {
    commands += 1;
    const isWithin = /^\S+ \[\d+ lua\]/.test(line);
    if (!isWithin) requests += 1;
    trace?.(`${isWithin ? '  ' : ''}${line.slice(line.indexOf(']') + 2)}`);
  });
  await work();
  await delay(restMs);
  monitor.destroy();
  return { requests, commands };
}

/** Calls `onCommand` with a line for each command of the server, which needs no password. */
async function openMonitor(url: string, onCommand: (line: string) => void): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const started = Promise.withResolvers<void>();
  socket.once('error', started.reject);
  // Each line is a simple string; the first one is OK.
  createInterface(socket).on('line', (line) => {
    if (line === '+OK') started.resolve();
    else onCommand(line.slice(1));
  });
  socket.write('MONITOR\r\n');
  await started.promise;
  return socket;
}
