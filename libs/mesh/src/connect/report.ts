import { MeshError } from '@agentmesh/protocol';
import type { Logger } from '@agentmesh/service';

/** An outage that goes on is logged again after so long, in ms. */
const reminderMs = 30_000;

/**
 * Returns what logs the errors that the connections of a process report: a server that is away as a warning, once and every half minute as long as it
 * goes on, anything else as a defect.
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

/** Does it say that a server cannot be reached, or is not ready yet? */
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
  // Node tries each address of a name, and says nothing itself of why all failed.
  const message = error.message || (error instanceof AggregateError ? String(error.errors[0]?.message) : '');
  return message || error.name;
}
