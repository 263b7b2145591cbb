import { type DestinationStream, type Logger, pino } from 'pino';
import { errorRecord } from './error-record.ts';
import { hidingDestination, oneLineDestination, textDestination } from './log-text.ts';
import type { ServiceConfig } from './service-config.ts';

export type { Logger } from 'pino';

export interface LoggerOptions {
  service: string;
  /** Name of this process among the replicas of the service. */
  replica: string;
  /** Default info. */
  level?: ServiceConfig['logLevel'];
  /** Default json. */
  format?: ServiceConfig['logFormat'];
  /** Default stdout. Lines are written synchronously, so the last line before an exit is written too. */
  destination?: DestinationStream;
}

/**
 * Makes the logger of a process. Object first, constant message: `log.info({ runs }, 'stopping')`; an error
 * goes in as `err` and is written with its causes. Fields with the names of secrets are written without their
 * values, even where the code forgot to use Secret.
 *
 * Levels: error, a human must act; warn, recovered; info, state changed; debug, the rest.
 */
export function createLogger(options: LoggerOptions): Logger {
  const { service, replica, level = 'info', format = 'json', destination = pino.destination(1) } = options;
  return pino(
    {
      level,
      base: { service, replica },
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: errorRecord },
    },
    hidingDestination(format === 'text' ? textDestination(destination) : oneLineDestination(destination)),
  );
}
