import type { FastifyReply, FastifyRequest } from 'fastify';

/** A run, or a stream that may stay open for long: both count against the limits of open streams. */
export type Load = 'run' | 'stream';

/** The app, and the user if there is one, that a request is about. */
export interface Target {
  app: string;
  user?: string | undefined;
}

/** Limits the requests and the open streams of callers, of users and of apps. */
export interface CallerLimits {
  /** Counts a request of a caller. @throws MeshError `resource_exhausted`, with the time to wait */
  countRequest(request: FastifyRequest): Promise<void>;
  /** Takes a slot of the caller for a run or a stream until its answer is over. @throws as `countRequest` */
  admitLoad(load: Load | undefined, request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /**
   * Counts a request that is allowed at its user and its app, and takes their slots for a run or a stream until its
   * answer is over.
   *
   * @throws as `countRequest`
   */
  admitTarget(target: Target, load: Load | undefined, reply: FastifyReply): Promise<void>;
}
