import type { InvocationRef } from '@agentmesh/agent/internal';
import { decodeToken, encodeToken, type Headers, header } from '@agentmesh/protocol';

/** Returns the header that names the run of a command: its payload may be gone when the command arrives again. */
export function runHeader({ appName, userId, sessionId, invocationId, resume }: InvocationRef): Headers {
  const names = [appName, userId, sessionId, invocationId, ...(resume === undefined ? [] : [resume])];
  return { [header.run]: names.map(encodeToken).join('.') };
}

/** Returns the run that the header of a command names; undefined for a command of a program without agentmesh. */
export function runInHeader(headers: Headers): InvocationRef | undefined {
  const [appName, userId, sessionId, invocationId, resume, ...more] = namesIn(headers[header.run] ?? '');
  if (!appName || !userId || !sessionId || !invocationId || more.length > 0) return undefined;
  return { appName, userId, sessionId, invocationId, ...(resume !== undefined && { resume }) };
}

function namesIn(value: string): string[] {
  try {
    return value.split('.').map(decodeToken);
  } catch {
    return [];
  }
}
