import { MeshError } from '@agentmesh/protocol';
import type { Logger } from '@agentmesh/service';

/** Time after which an outage that goes on is logged again, in ms. */
const reminderMs = 30_000;

/**
 * Returns the function that logs the errors of a process's connections. An unreachable server is a warning,
 * once and then every half minute while the outage lasts; any other error is a defect.
 */
export function reportTo(
  log: Pick<Logger, 'warn' | 'error'>,
  now: () => number = Date.now,
): (error: unknown, where: string) => void {
  const warnedAt = new Map<string, number>();
  return (error, where) => {
    if (!isOutage(error)) {
      log.error({ err: error, where }, 'defect reported');
      return;
    }
    if (now() - (warnedAt.get(where) ?? Number.NEGATIVE_INFINITY) < reminderMs) return;
    warnedAt.set(where, now());
    log.warn({ where, reason: reasonOf(error) }, 'a server is away: trying again until it answers');
  };
}

const connectionCodes = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
];

/** Tells whether the error says that a server cannot be reached, or is not ready yet. */
function isOutage(error: unknown): boolean {
  if (error instanceof MeshError) return error.code === 'unavailable';
  if (!(error instanceof Error)) return false;
  if ('code' in error && connectionCodes.includes(String(error.code))) return true;
  return /^(All sentinels|Connection is closed|connect ETIMEDOUT|LOADING|MASTERDOWN|CLUSTERDOWN|Failed to refresh slots)/.test(
    error.message,
  );
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Node tries each address of a name, and gives no message of its own when all fail.
  const message = error.message || (error instanceof AggregateError ? String(error.errors[0]?.message) : '');
  return message || error.name;
}
