import type { AuditAction } from '@agentmesh/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayContext } from './context.ts';
import type { LargeAnswers } from './large-answers.ts';
import type { CallerLimits, Load } from './limits.ts';
import type { Operation } from './operation.ts';
import type { Role } from './role.ts';

/** The parts that handlers may use, with those that belong to one HTTP server. */
export interface HandlerContext extends GatewayContext {
  readonly large: LargeAnswers;
  /** The limits of callers, users and apps; absent: none. */
  readonly limits?: CallerLimits | undefined;
}

/** Answers one request. */
export type Handler = (context: HandlerContext, request: FastifyRequest, reply: FastifyReply) => unknown;

/** The method and path of requests, and their handler. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
  handle: Handler;
  /** The least role of a caller, in the app `:app` of the path; `public`: the route is for everyone. */
  role: Role | 'public';
  /** The least role of a caller whose user is not the user `:user` of the path; default `operator`. */
  others?: Role;
  load?: Load;
  /** The kind of act, for routes whose use is recorded for the operator. Refusals are recorded for all routes. */
  audit?: AuditAction;
  /** True if the body is bytes of any type, and comes as a stream. */
  takesBytes?: true;
  /** The requests and the answers of the route. */
  about: Operation;
}

/** A route whose description stands in another place. */
export type Entrance = Omit<Route, 'about'>;
