import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * The parts of a text, in order. Each is a function that reads its part, so that nothing of a part stays in memory while
 * its client reads. A part may be empty.
 */
export type Parts = Generator<() => Promise<string>, void, void>;

/** Reads and sends what may be large, in bounded memory: a few reads at once, in which callers take turns. */
export interface LargeAnswers {
  /**
   * Does a read when it is its caller's turn.
   *
   * @throws MeshError `resource_exhausted` when the turn does not come in time
   */
  read<T>(request: FastifyRequest, work: () => Promise<T>): Promise<T>;
  /**
   * Answers with the JSON text that consists of these parts. Each part is read when the client has taken the one
   * before. An error of the first parts, up to 64 KiB, is the answer; after a later one the connection ends.
   *
   * @throws MeshError as `read`, and when too many bytes wait for clients
   */
  sendJson(request: FastifyRequest, reply: FastifyReply, parts: Parts): Promise<FastifyReply>;
  /** The same for lines of JSON. */
  sendLines: LargeAnswers['sendJson'];
}
