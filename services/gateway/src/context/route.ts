import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayContext } from './context.ts';

/** Answers one request. */
export type Handler = (context: GatewayContext, request: FastifyRequest, reply: FastifyReply) => unknown;

/** The method and path of requests, and their handler. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
  handle: Handler;
  /** True if the body is bytes of any type, and comes as a stream. */
  takesBytes?: true;
}
