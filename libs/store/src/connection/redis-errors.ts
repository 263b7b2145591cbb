import { MeshError } from '@agentmesh/protocol';

/** What the server says while it will soon be fine again: the command was not run, and may be sent anew. */
const passing =
  /\b(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|NOREPLICAS|UNBLOCKED)\b|^(MOVED|ASK) \d|WAIT cannot be used with replica/;

const refusals: [RegExp, (said: string) => MeshError['code'], string][] = [
  [/\bOOM\b/, () => 'unavailable', 'redis is full (maxmemory); give it more memory'],
  [/\bMISCONF\b/, () => 'unavailable', 'redis cannot write to its disk; mend that'],
  [/\bNOREPLICAS\b/, () => 'unavailable', 'redis has too few replicas in reach to accept writes'],
  [/\bREADONLY\b/, () => 'unavailable', 'redis is a read-only replica; connect to the primary'],
  [
    /\bTRYAGAIN\b|^ASK /,
    () => 'unavailable',
    'a slot of the redis cluster is being moved; wait until that is done',
  ],
  [/\bCLUSTERDOWN\b/, () => 'unavailable', 'a part of the redis cluster is down'],
  [passing, () => 'unavailable', 'redis is not ready yet'],
  [
    /\b(WRONGPASS|NOAUTH)\b|invalid password/,
    () => 'unauthenticated',
    'redis refuses the user or password of its url',
  ],
  [
    /\bNOPERM\b|The user executing the script|\bACL failure in script\b/,
    () => 'permission_denied',
    "redis' access rules do not let this user do that",
  ],
];

/** Whether a later attempt of the same command may succeed by itself: the server is away, or not ready. */
export function isPassing(error: unknown): boolean {
  // What we have said ourselves is the last word.
  if (error instanceof MeshError) return false;
  return !isReply(error) || passing.test(error.message);
}

/** The mesh's error for one of ioredis: what the server refused, or else that it does not answer. */
export function fromRedis(error: unknown, last?: Error): MeshError {
  if (error instanceof MeshError) return error;
  if (!isReply(error)) {
    const cause = last ?? error;
    const why = cause instanceof Error ? `: ${cause.message}` : '';
    return new MeshError('unavailable', `redis does not answer${why}`, { cause });
  }
  for (const [pattern, code, message] of refusals) {
    if (pattern.test(error.message)) return new MeshError(code(error.message), message, { cause: error });
  }
  return new MeshError('internal', 'redis refused a command', { cause: error });
}

/** An answer of the server, as opposed to a failure to reach it. */
export function isReply(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}
