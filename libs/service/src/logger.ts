import { type DestinationStream, type Logger, pino } from 'pino';
import { errorRecord } from './error-record.ts';
import { oneLineDestination, textDestination } from './log-text.ts';
import { redacted } from './secret.ts';
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

const secretKeys = [
  'password',
  'passwd',
  'secret',
  'clientSecret',
  'token',
  'accessToken',
  'refreshToken',
  'idToken',
  'apiKey',
  'api_key',
  'authorization',
  'Authorization',
  'cookie',
  'set-cookie',
  'x-goog-api-key',
  'credential',
  'authCredential',
];

/**
 * Paths of keys with the names of secrets, down to the third level of an object: their values are not
 * printed, even where the code forgot to use Secret.
 */
const secretPaths = secretKeys.flatMap((key) => {
  const step = key.includes('-') ? `["${key}"]` : key;
  const below = key.includes('-') ? step : `.${step}`;
  return [step, `*${below}`, `*.*${below}`];
});

/**
 * Makes the logger of a process. Object first, constant message: `log.info({ runs }, 'stopping')`; an error
 * goes in as `err` and is written with its causes.
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
      redact: { paths: secretPaths, censor: redacted },
    },
    format === 'text' ? textDestination(destination) : oneLineDestination(destination),
  );
}
