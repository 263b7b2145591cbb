import type { DestinationStream } from 'pino';
import type { ErrorRecord } from './error-record.ts';

function value(field: unknown): string {
  return typeof field === 'string' && /^[^\s"=]+$/.test(field) ? field : JSON.stringify(field);
}

function errorLines(error: ErrorRecord): string {
  const headline = error.stack ?? `${error.type}: ${error.message}`;
  return error.cause ? `${headline}\ncaused by ${errorLines(error.cause)}` : headline;
}

/**
 * Returns a JSON line of the logger as text for people: time, level, service, message, then the rest as
 * `key=value`.
 */
export function textLine(line: string): string {
  const { time, level, service, replica: _, msg, err, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const clock = String(time).slice(11, 23);
  const fields = Object.entries(rest).map(([key, field]) => ` ${key}=${value(field)}`);
  const head = `${clock} ${String(level).toUpperCase().padEnd(5)} ${service}: ${msg ?? ''}${fields.join('')}\n`;
  if (!err) return head;
  // errorRecord, the only serialiser of `err`, has made it.
  return `${head}${errorLines(err as ErrorRecord).replace(/^/gm, '  ')}\n`;
}

/** Makes a destination that passes the logger's lines on as text. */
export function textDestination(to: DestinationStream): DestinationStream {
  return { write: (line) => to.write(textLine(line)) };
}
