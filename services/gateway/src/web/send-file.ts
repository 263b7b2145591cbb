import { createReadStream } from 'node:fs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { WebFile } from './web-files.ts';

/** Sends a file of a page, with the headers that say what the page may do. */
export function sendFile(
  { file, size, contentType, etag, isHashed }: WebFile,
  headers: Record<string, string>,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  reply.headers({
    'cache-control': isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
    'x-content-type-options': 'nosniff',
    ...headers,
    etag,
  });
  if (request.headers['if-none-match'] === etag) return reply.status(304).send();
  return reply.headers({ 'content-type': contentType, 'content-length': size }).send(createReadStream(file));
}
