import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * The parts of a text, in order. Each is a function that reads its part, so that nothing of a part stays in memory while
 * its client reads. A part may be empty.
 */
export type Parts = Iterator<() => Promise<string>, void, void>;

/** A value that is to be read and sent, and its size. */
export interface LargeRead<T> {
  /** Reads it. May be called a second time: when there is no room, the first reading is forgotten. */
  read(): Promise<T>;
  /** Returns the size in bytes, roughly. */
  sizeOf(value: T): number;
  /** Returns the bytes to send; called once. */
  encode(value: T): Buffer;
}

/** Bytes that wait for their client. */
export interface HeldBuffer {
  bytes: Buffer;
  /** Call this when the client has the bytes. */
  release(): void;
}

/** Reads and sends what may be large, in bounded memory: a few reads at once, in which callers take turns. */
export interface LargeAnswers {
  /**
   * Does a read when it is its caller's turn.
   *
   * @throws MeshError `resource_exhausted` when the turn does not come in time
   */
  read<T>(request: FastifyRequest, work: () => Promise<T>): Promise<T>;
  /** Does a work that needs a whole session in memory. One such work is done at a time. @throws as `read` */
  readWhole: LargeAnswers['read'];
  /**
   * Does a read of the state of a session for a run when it is its caller's turn. Most states are small, so many callers
   * may wait. @throws as `read`
   */
  readState: LargeAnswers['read'];
  /**
   * Reads when it is the turn of the caller, and when there is room for the bytes among those that wait for clients.
   *
   * @throws MeshError `resource_exhausted` when the turn, or room, does not come in time; the reason of the signal
   */
  readHeld<T>(request: FastifyRequest, what: LargeRead<T>, signal: AbortSignal): Promise<HeldBuffer>;
  /**
   * Answers with the JSON text that consists of these parts. Each part is read when the client has taken the one
   * before. An error of the first parts, up to 64 KiB, is the answer; after a later one the connection ends.
   *
   * @param parts makes the parts; called again when there was no room for the first of them
   * @throws MeshError as `read`, and when too many bytes wait for clients
   */
  sendJson(request: FastifyRequest, reply: FastifyReply, parts: () => Parts): Promise<FastifyReply>;
  /** The same for lines of JSON. */
  sendLines: LargeAnswers['sendJson'];
}
