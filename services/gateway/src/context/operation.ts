import type { z } from 'zod';

/** The part of a route in the OpenAPI document: the requests that it takes and its answers. */
export interface Operation {
  /** The path in the document, where the address of the route is a pattern that OpenAPI does not have. */
  path?: string;
  /** The meaning of the route, in one line. */
  summary: string;
  /** The keys of the query in camelCase; absent for a route without a query. */
  query?: Readonly<Record<string, z.ZodType>>;
  /** Headers of the request, beside those that every route reads. */
  headers?: Readonly<Record<string, string>>;
  /** The body as JSON, in camelCase; `bytes`: a body of any type; absent for a route without a body. */
  body?: z.ZodType | 'bytes';
  /** True if a request may come without a body. */
  isBodyOptional?: true;
  /** The schema of a JSON answer, or the media type of another answer; absent for a route that only refuses. */
  answer?: z.ZodType | MediaType;
  /** The status of this answer; default 200. */
  status?: number;
  /** Further statuses with their meanings, beside those of every route. */
  others?: Readonly<Record<number, string>>;
  /** Headers of the answer with their meanings. */
  answerHeaders?: Readonly<Record<string, string>>;
}

/** The media types of answers that are no JSON. */
export type MediaType = 'text/event-stream' | 'application/x-ndjson' | 'text/plain' | 'text/html' | '*/*';
