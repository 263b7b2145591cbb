import { MeshError } from '../errors/mesh-error.ts';

/**
 * The largest payload that crosses a hop, in bytes. What is larger is a file: save it as an artifact and send its name. Redis answers nobody else while it
 * reads one, and at twice as much clients gave it up.
 */
export const maxPayloadBytes = 32 * 1024 * 1024;

/** What a message adds to an event that it tells of, and an event to a result that it holds, at most, in bytes. */
const room = 64 * 1024;

/** The longest JSON of each kind that is kept, in bytes: each must fit into the next one. */
const limits = {
  event: maxPayloadBytes - room,
  state: maxPayloadBytes - room,
  result: maxPayloadBytes - 2 * room,
  progress: maxPayloadBytes - 2 * room,
} as const;

/** Names what is too large. */
const names: Record<keyof typeof limits, string> = {
  event: 'an event',
  state: 'the state of a session',
  result: 'the result of a tool',
  progress: 'a word of a tool on its way',
};

/** JSON that is not too large to be kept and sent. @throws MeshError `invalid_argument` */
export function keptJson(kind: keyof typeof limits, json: string): string {
  // A character is three bytes at most: of what is short nothing need be counted.
  if (json.length * 3 <= limits[kind]) return json;
  const size = Buffer.byteLength(json);
  if (size <= limits[kind]) return json;
  throw new MeshError(
    'invalid_argument',
    `${names[kind]} of ${size} bytes is over the limit of ${limits[kind]}; save what is large as an artifact and give its name`,
  );
}
