import { MeshError } from '../errors/mesh-error.ts';

/**
 * The largest payload of a message, in bytes. Save larger data as an artifact and send its name. Redis
 * answers no other client while it reads a payload, and with payloads of twice this size clients gave up
 * waiting for Redis.
 */
export const maxPayloadBytes = 32 * 1024 * 1024;

/** The room for the message around an event, and for the event around a result, in bytes. */
const room = 64 * 1024;

/** The longest JSON of each kind, in bytes. A result must fit into an event, and an event into a message. */
const limits = {
  event: maxPayloadBytes - room,
  state: maxPayloadBytes - room,
  result: maxPayloadBytes - 2 * room,
  progress: maxPayloadBytes - 2 * room,
} as const;

/** The name of each kind in an error. */
const names: Record<keyof typeof limits, string> = {
  event: 'an event',
  state: 'the state of a session',
  result: 'the result of a tool',
  progress: 'the progress of a tool',
};

/** Returns the JSON when it is small enough to be stored and sent. @throws MeshError `invalid_argument` */
export function keptJson(kind: keyof typeof limits, json: string): string {
  // A character has three bytes at most, so the bytes of a short text need not be counted.
  if (json.length * 3 <= limits[kind]) return json;
  const size = Buffer.byteLength(json);
  if (size <= limits[kind]) return json;
  throw new MeshError(
    'invalid_argument',
    `${names[kind]} of ${size} bytes is over the limit of ${limits[kind]}; save what is large as an artifact and give its name`,
  );
}
