import { MeshError, parseJson } from '@agentmesh/protocol';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

/** Writes a payload as JSON. @throws MeshError `invalid_argument` for a value that JSON cannot hold */
export function encodeJson(payload: unknown): Uint8Array {
  try {
    const text = JSON.stringify(payload);
    return encoder.encode(text ?? '');
  } catch (cause) {
    throw new MeshError('invalid_argument', 'the payload cannot be written as JSON', { cause });
  }
}

/** Reads a payload. Returns undefined when there are no bytes. @throws MeshError `invalid_argument` */
export function decodeJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return parseJson(decoder.decode(bytes));
  } catch (cause) {
    if (cause instanceof MeshError) throw cause;
    throw new MeshError('invalid_argument', 'the payload is not JSON', { cause });
  }
}
