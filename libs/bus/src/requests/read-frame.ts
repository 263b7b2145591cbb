import { type ErrorCode, errorTable, header, isFrameType, MeshError } from '@agentmesh/protocol';
import type { Packet } from '../bus/broker-link.ts';
import type { ReceivedFrame } from '../bus/bus.ts';
import { decodeJson } from '../messages/json.ts';

/**
 * Reads one reply. The plain reply of a service that sends no frames is the result.
 *
 * @throws MeshError the callee's error; `unavailable` when nobody listens on the subject of the request, or
 * frames are missing
 */
export function readFrame(reply: Packet, subject: string, expected: number): ReceivedFrame {
  if (reply.noResponders) {
    throw new MeshError('unavailable', `nobody listens on ${subject}; start a replica`, {
      details: { reason: 'no_responders' },
    });
  }
  const { headers, bytes } = reply;
  const replica = headers[header.replica];
  const type = headers[header.frame];
  const seq = headers[header.seq];
  if (seq !== undefined && Number(seq) !== expected) {
    throw new MeshError(
      'unavailable',
      `frames are missing: expected number ${expected}, got ${seq}; try again`,
    );
  }
  if (type === 'error' || headers[header.error] !== undefined || headers[header.errorCode] !== undefined) {
    throw readError(reply);
  }
  if (!isFrameType(type) || type === 'error') return { type: 'result', data: decodeJson(bytes), replica };
  if (type === 'heartbeat') return { type, replica };
  if (type === 'accepted') return { type, data: { replica: replica ?? '' }, replica };
  return { type, data: decodeJson(bytes), replica };
}

function readError({ headers, bytes }: Packet): MeshError {
  const wire = readBody(bytes);
  const natsCode = Number(headers[header.errorCode]);
  const code = (Object.keys(errorTable) as ErrorCode[]).find(
    (name) => errorTable[name].natsCode === natsCode,
  );
  const error = MeshError.fromWire({ code, message: headers[header.error], ...wire });
  const { reason, ...details } = error.details ?? {};
  return isUnanswered(reason) ? new MeshError(error.code, error.message, { details }) : error;
}

/**
 * Tells whether the reason in the details of an error says that nobody has answered a request. The bus alone gives these
 * reasons: they are taken out of an answer.
 */
export function isUnanswered(reason: unknown): boolean {
  return reason === 'no_responders' || reason === 'silence';
}

/** Reads the body of an error, if it is one of ours; else returns an empty object. */
function readBody(bytes: Uint8Array): object {
  try {
    const body = decodeJson(bytes);
    return typeof body === 'object' && body !== null && 'code' in body ? body : {};
  } catch {
    return {};
  }
}
