import { MeshError } from '@agentmesh/protocol';
import type { Session } from './session.ts';
import type { CreateSessionRequest, SessionService } from './session-service.ts';

export interface ListSessionsRequest {
  appName: string;
  /** The user; required, because sessions are stored by user. */
  userId?: string;
  /** Page size; default 100. */
  limit?: number;
  /** Number of sessions to skip; default 0. Ignored when `page` is set. */
  offset?: number;
  /** Number of the page, from 1; needs a `limit`. */
  page?: number;
  /** Order by the time of the last event; default `desc`, the newest first. */
  order?: 'asc' | 'desc';
}

export interface ListSessionsResponse {
  /** Sessions without events. */
  sessions: Session[];
  /** Number of the page, from 1. */
  page: number;
  /** Page size. */
  limit: number;
  totalItems: number;
  totalPages: number;
}

/** A part of a user's list of sessions. */
export interface SessionSlice {
  appName: string;
  userId: string;
  limit: number;
  offset: number;
  order: 'asc' | 'desc';
  page: number;
}

/**
 * Reads the requested part of a list.
 *
 * @throws MeshError `invalid_argument` without a user, or for an invalid number or order
 */
export function sliceOf(request: ListSessionsRequest): SessionSlice {
  const { appName, userId, page, order = 'desc' } = request;
  const limit = count('limit', request.limit ?? 100);
  if (userId === undefined) {
    throw new MeshError(
      'invalid_argument',
      'listSessions needs a userId: sessions are kept by user, and not listed over all users',
    );
  }
  if (order !== 'asc' && order !== 'desc')
    throw new MeshError('invalid_argument', `order must be asc or desc, not ${order}`);
  if (page === undefined) {
    const offset = count('offset', request.offset ?? 0);
    return { appName, userId, limit, offset, order, page: limit === 0 ? 1 : Math.floor(offset / limit) + 1 };
  }
  if (!Number.isSafeInteger(page) || page < 1)
    throw new MeshError('invalid_argument', `page must be a whole number from 1, not ${page}`);
  if (!request.limit)
    throw new MeshError('invalid_argument', 'page needs a limit above 0: the size of a page');
  return { appName, userId, limit, offset: (page - 1) * limit, order, page };
}

/** Makes the response for a part of a list. */
export function listed(sessions: Session[], totalItems: number, slice: SessionSlice): ListSessionsResponse {
  const { page, limit } = slice;
  return { sessions, page, limit, totalItems, totalPages: limit === 0 ? 0 : Math.ceil(totalItems / limit) };
}

function count(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new MeshError('invalid_argument', `${name} must be a whole number from 0, not ${value}`);
}

/** Returns the session, or creates it. Of several concurrent callers one creates it. */
export async function getOrCreateSession(
  service: SessionService,
  request: CreateSessionRequest,
): Promise<Session> {
  const { appName, userId, sessionId } = request;
  if (sessionId === undefined) return await service.createSession(request);
  const ref = { appName, userId, sessionId };
  const existing = await service.getSession(ref);
  if (existing) return existing;
  try {
    return await service.createSession(request);
  } catch (error) {
    const other = MeshError.from(error).code === 'already_exists' && (await service.getSession(ref));
    if (other) return other;
    throw error;
  }
}
