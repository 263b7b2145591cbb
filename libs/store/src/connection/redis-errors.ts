import { MeshError } from '@agentmesh/protocol';

/** Errors of a server that will be ready again soon: the command did not run and may be repeated. */
const passing =
  /\b(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|NOREPLICAS|UNBLOCKED)\b|^(MOVED|ASK) \d|WAIT cannot be used with replica/;

const refusals: [RegExp, (reply: string) => MeshError['code'], string][] = [
  [/\bOOM\b/, () => 'unavailable', 'redis is full (maxmemory); give it more memory'],
  [/\bMISCONF\b/, () => 'unavailable', 'redis cannot write to its disk; repair the disk'],
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
    /unknown command .?(FCALL|FUNCTION)/i,
    () => 'failed_precondition',
    'redis is too old: it has no functions; use redis 7.0 or later, or valkey',
  ],
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

/**
 * Tells whether a later attempt of the same command may succeed by itself: the server is unreachable, or not
 * ready.
 */
export function isPassing(error: unknown): boolean {
  // An error of our own is final.
  if (error instanceof MeshError) return false;
  return !isReply(error) || passing.test(error.message);
}

/**
 * Returns the mesh's error for an error of ioredis: the refusal of the server, or else `unavailable` for a
 * server that does not answer.
 */
export function fromRedis(error: unknown, last?: Error): MeshError {
  if (error instanceof MeshError) return error;
  if (!isReply(error)) {
    const cause = last ?? error;
    const why = cause instanceof Error ? `: ${cause.message}` : '';
    return new MeshError('unavailable', `redis does not answer${why}`, {
      cause,
      details: { absent: 'redis' },
    });
  }
  for (const [pattern, code, message] of refusals) {
    if (pattern.test(error.message)) return new MeshError(code(error.message), message, { cause: error });
  }
  return new MeshError('internal', 'redis refused a command', { cause: error });
}

/** Tells whether the error is a reply of the server, and not a failure to reach it. */
export function isReply(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}

/** Tells whether the server does not have the function that was called. */
export function isMissingFunction(error: unknown): boolean {
  return isReply(error) && /Function not found/i.test(error.message);
}

/** Makes the error for a user that may not load the functions, which Redis does not have. */
export function missingFunctions(cause: unknown): MeshError {
  return new MeshError(
    'unavailable',
    'redis does not have the functions of this release of agentmesh; run the provisioning step, which loads them',
    { cause },
  );
}
