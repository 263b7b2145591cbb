import { type Headers, header, type InvocationEnd, readEventSubject } from '@agentmesh/protocol';
import { type EndNews, now } from '../check/history.ts';

/** A message about an invocation. */
interface News {
  subject: string;
  headers: Headers;
  json(): unknown;
}

/** Reads an end that comes with the last event of its run, or as a message of its own. */
export function readEnd({ subject, headers, json }: News): EndNews | undefined {
  const told = { invocationId: readEventSubject(subject).invocationId, at: now() };
  const resume = headers[header.resume];
  if (headers[header.end] === 'completed') return { ...told, status: 'completed', ...(resume && { resume }) };
  if (headers[header.frame] !== 'result' || headers[header.claim] !== undefined) return undefined;
  const end = json() as InvocationEnd;
  return {
    ...{ ...told, status: end.status },
    ...(end.error && { code: end.error.code }),
    ...(end.resume !== undefined && { resume: end.resume }),
  };
}
