import type { ServerResponse } from 'node:http';
import { MeshError } from '@agentmesh/protocol';
import { countStream } from './request-metrics.ts';

/**
 * Time between two keep-alive lines, in ms: they keep proxies from closing a connection while the model
 * thinks.
 */
const keepAliveMs = 15_000;
/** Size of the slices in which large frames are sent, in bytes. */
const sliceBytes = 65_536;
/** Time that a client has for the rest when the gateway cannot wait any longer, in ms. */
const lastMs = 1_000;

export interface SseFrame {
  data: unknown;
  /** The id with which the client comes back. A frame without an id leaves the client at the last id. */
  id?: number | undefined;
}

export interface SseOptions {
  headers: Record<string, string>;
  /** Stops the waiting for a slow client. */
  signal: AbortSignal;
  /** Longest time for which a client may read nothing, in ms. */
  unreadMs: number;
  /** Aborted when the gateway stops. */
  stopping: AbortSignal;
  /**
   * The place of a frame's id. `before` puts the id before the data, in one block, as most servers do.
   * `behind` puts it after the data, in a separate block: ADK's clients accept only blocks that begin with
   * `data: `.
   */
  idPlace: 'before' | 'behind';
}

/** Server-sent events (WHATWG HTML, "Server-sent events") to one client. */
export interface SseStream {
  /**
   * Sends a frame, and resolves when the client can take more. So a slow client slows down the reading, and
   * no frames pile up here.
   *
   * @throws MeshError `resource_exhausted` when the client has not read for `unreadMs`
   */
  send(frame: SseFrame): Promise<void>;
  /**
   * Sends the bytes of whole frames in slices, each when the client has taken the one before.
   *
   * @throws MeshError as `send`
   */
  sendBytes(frames: Buffer): Promise<void>;
  /** Ends the answer, and the connection if the client does not read the rest in time. */
  close(last?: SseFrame): void;
}

export function openSse(raw: ServerResponse, options: SseOptions): SseStream {
  const { headers, signal, unreadMs, stopping, idPlace } = options;
  const textOf = (frame: SseFrame) => frameText(frame, idPlace);
  raw.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
    ...headers,
  });
  raw.flushHeaders();
  countStream(raw);
  /** False while a part of a frame is sent. */
  let isWhole = true;
  const keepAlive = setInterval(() => {
    if (isWhole && !raw.writableNeedDrain) raw.write(': keep-alive\n\n');
  }, keepAliveMs);
  raw.once('close', () => clearInterval(keepAlive));
  if (raw.destroyed) clearInterval(keepAlive);
  let patience = unreadMs;
  const write = async (chunk: string | Buffer) => {
    if (raw.write(chunk) || signal.aborted) return;
    if (await drained(raw, signal, unreadMs)) return;
    patience = lastMs;
    throw new MeshError(
      'resource_exhausted',
      `nothing was read for ${unreadMs} ms; read on from the last id that came`,
    );
  };
  return {
    send: async (frame) => await write(textOf(frame)),
    async sendBytes(frames) {
      isWhole = false;
      for (let at = 0; at < frames.length; at += sliceBytes) {
        if (signal.aborted) return;
        await write(frames.subarray(at, at + sliceBytes));
      }
      isWhole = true;
    },
    close(last) {
      clearInterval(keepAlive);
      if (!isWhole) {
        // A client would read a further frame as the rest of the part. It learns of the end by the lost connection.
        raw.destroy();
        return;
      }
      raw.end(last && textOf(last));
      // A client that does not read would hold the connection, and with it the gateway's stop.
      if (!raw.writableFinished && !raw.destroyed) cutWhenUnread(raw, patience, stopping);
    },
  };
}

/** Returns the text of a frame, with its id at this place. */
export function frameText(frame: SseFrame, idPlace: SseOptions['idPlace']): string {
  return idPlace === 'before' ? blockWithId(frame) : blockAndId(frame);
}

/** Returns a block with data only. */
export function dataBlock(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

function blockWithId({ id, data }: SseFrame): string {
  return `${id === undefined ? '' : `id: ${id}\n`}${dataBlock(data)}`;
}

/**
 * Returns a block of data, then a block with the id. A block without data dispatches no event, but its id
 * counts as the last id (WHATWG HTML, "Interpreting an event stream").
 */
function blockAndId({ id, data }: SseFrame): string {
  return `${dataBlock(data)}${id === undefined ? '' : `id: ${id}\n\n`}`;
}

/** Resolves with true when all was read or the signal aborts, or with false after `ms`. */
function drained(raw: ServerResponse, signal: AbortSignal, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (isRead: boolean) => {
      clearTimeout(timer);
      raw.off('drain', go);
      signal.removeEventListener('abort', go);
      resolve(isRead);
    };
    const go = () => settle(true);
    const timer = setTimeout(() => settle(false), ms);
    raw.once('drain', go);
    signal.addEventListener('abort', go);
  });
}

function cutWhenUnread(raw: ServerResponse, ms: number, stopping: AbortSignal): void {
  const cut = () => raw.destroy();
  let timer = setTimeout(cut, stopping.aborted ? lastMs : ms);
  const hurry = () => {
    clearTimeout(timer);
    timer = setTimeout(cut, lastMs);
  };
  stopping.addEventListener('abort', hurry, { once: true });
  raw.once('close', () => {
    clearTimeout(timer);
    stopping.removeEventListener('abort', hurry);
  });
}
