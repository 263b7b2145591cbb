import { createWriteStream, mkdirSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { textLine } from '@agentmesh/service';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

export interface DevLogOptions {
  /** The lowest level that is printed. The files have all lines. */
  level: LogLevel;
  /** The services whose lines are printed; empty for all. */
  only: readonly string[];
  /** True to print the lines of services as JSON. */
  isJson: boolean;
  /** True for colours. */
  hasColours: boolean;
  /** The folder of the log files: one for each service. */
  folder: string;
  /** Prints a line for people, with the record for `--json`. */
  print: (part: { text: string; json: unknown }) => void;
}

/** The log of a dev loop: the lines of all services on the terminal and in files, and its own reports. */
export interface DevLog extends AsyncDisposable {
  /** Takes a line that a service wrote. */
  onLine(service: string, line: string): void;
  /** Reports what the dev loop does. */
  say(text: string): void;
}

const levelColours: Record<string, number> = { warn: 33, error: 31, fatal: 31, debug: 90, trace: 90 };
const serviceColours = [36, 35, 34, 32, 96, 95, 94, 92];

/** Makes the log of a dev loop. */
export function createDevLog(options: DevLogOptions): DevLog {
  const { only, isJson, hasColours, folder, print } = options;
  const least = logLevels.indexOf(options.level);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const files = new Map<string, WriteStream>();
  const colours = new Map<string, number>();

  let hasFailed = false;
  // The services go on without their files: a disk may be full for a while. The next line tries again.
  const onFailure = (service: string, { message }: Error) => {
    files.delete(service);
    if (hasFailed) return;
    hasFailed = true;
    const text = `the logs in ${folder} cannot be written, so lines are missing there: ${message}`;
    print({ text: coloured(text, levelColours.warn), json: { level: 'warn', msg: text } });
  };
  const write = (service: string, line: string) => {
    let file = files.get(service);
    if (!file) {
      file = createWriteStream(join(folder, `${service}.log`), { flags: 'a', mode: 0o600 });
      file.on('error', (error) => onFailure(service, error));
      files.set(service, file);
    }
    file.write(`${line}\n`);
  };
  const coloured = (text: string, colour: number | undefined) =>
    hasColours && colour !== undefined ? `\u001B[${colour}m${text}\u001B[0m` : text;
  const colourOf = (service: string) => {
    const colour = colours.get(service) ?? serviceColours[colours.size % serviceColours.length] ?? 36;
    colours.set(service, colour);
    return colour;
  };

  return {
    onLine(service, line) {
      write(service, line);
      if (only.length > 0 && !only.includes(service)) return;
      const record = readRecord(line);
      if (!record) {
        print({ text: `${coloured(service, colourOf(service))}: ${line}`, json: { service, line } });
        return;
      }
      if (logLevels.indexOf(record.level) < least) return;
      if (isJson) {
        print({ text: line, json: record });
        return;
      }
      const [head = '', ...more] = textLine(line).trimEnd().split('\n');
      const [, clock, level = '', rest = ''] = /^(\S+) (\S+ *) \S+: (.*)$/s.exec(head) ?? [];
      const parts = [
        clock,
        coloured(level, levelColours[record.level]),
        coloured(service, colourOf(service)),
        rest,
      ];
      print({ text: [parts.join(' '), ...more].join('\n'), json: record });
    },
    say(text) {
      write('dev', text);
      print({ text: coloured(`• ${text}`, 1), json: { service: 'dev', msg: text } });
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...files.values()].map((file) => new Promise((resolve) => file.end(resolve))));
    },
  };
}

function readRecord(line: string): { level: LogLevel } | undefined {
  try {
    const value: unknown = JSON.parse(line);
    const isRecord = typeof value === 'object' && value !== null && 'msg' in value && 'level' in value;
    return isRecord && logLevels.some((level) => level === value.level)
      ? (value as { level: LogLevel })
      : undefined;
  } catch {
    return undefined;
  }
}
