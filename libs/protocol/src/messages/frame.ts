import { z } from 'zod';
import { type ErrorCode, errorTable, type WireError } from '../errors/mesh-error.ts';

/** The kinds of frames in a reply stream, and of messages on an invocation's event subject. */
export const frameTypes = ['accepted', 'event', 'progress', 'heartbeat', 'result', 'error'] as const;
export type FrameType = (typeof frameTypes)[number];

/** One frame of a reply stream. `accepted` comes first; one `result` or `error` ends the stream. */
export type Frame =
  | { type: 'accepted'; data: { replica: string } }
  | { type: 'event'; data: unknown }
  | { type: 'progress'; data: unknown }
  | { type: 'heartbeat' }
  | { type: 'result'; data: unknown }
  | { type: 'error'; data: WireError };

export function isFrameType(text: string | undefined): text is FrameType {
  return frameTypes.includes(text as FrameType);
}

/** The body of an error, in a frame and in a plain reply. */
export const wireErrorSchema = z.object({
  code: z.enum(Object.keys(errorTable) as [ErrorCode, ...ErrorCode[]]),
  message: z.string(),
  details: z.record(z.string(), z.unknown()).optional(),
}) satisfies z.ZodType<Partial<WireError>>;
