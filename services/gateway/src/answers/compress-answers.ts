import compress from '@fastify/compress';
import type { FastifyInstance } from 'fastify';

/** Size from which an answer is compressed, in bytes: smaller ones fit into one packet. */
const threshold = 1_024;
/** A quick level of gzip: the highest one takes several times as long for JSON and saves a few per cent. */
const level = 4;

/**
 * Compresses the answers of routes that are registered later in scopes of the server, for clients that accept gzip.
 * Bodies of requests stay as they are: a small body could unpack to any size.
 */
export function compressAnswers(server: FastifyInstance): void {
  server.register(compress, {
    ...{ globalDecompression: false, encodings: ['gzip'], threshold, zlibOptions: { level } },
    customTypes: /^(?:application\/(?:json|javascript)|text\/(?:html|css|javascript)|image\/svg\+xml)\b/,
  });
}
