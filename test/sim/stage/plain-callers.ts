import type { Mesh } from '@agentmesh/mesh';
import { header } from '@agentmesh/protocol';

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const decode = (text: string | undefined) =>
  text === undefined ? undefined : JSON.parse(Buffer.from(text, 'base64url').toString());

/** The identities of callers without signatures: WebCrypto signs in threads, whose order no seed decides. */
export const plainCallers: Mesh['callers'] = {
  sign: async (_work, caller) => ({ [header.identity]: encode(caller) }),
  read: async (headers) => decode(headers[header.identity]),
  signSource: async (_voucher, _run, answeredBy) => ({ [header.answeredBy]: encode(answeredBy) }),
  readSource: async (headers) => decode(headers[header.answeredBy]),
};
