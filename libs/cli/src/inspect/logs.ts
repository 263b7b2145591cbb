import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { MeshError, nearest } from '@agentmesh/protocol';
import { textLine } from '@agentmesh/service';
import { z } from 'zod';
import { type Command, listReport } from '../command/command.ts';
import { Misuse } from '../command/program.ts';
import { findProject, meshFolder } from '../context/find-mesh.ts';

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'];

/** A line of a log, with the service that wrote it. */
interface LoggedLine {
  service: string;
  text: string;
  /** The time of the line; of a line that is no record, such as that of a crash, the time of the line before. */
  time: string;
  /** Absent for a line that is no record. */
  level?: string;
}

/** The command that prints the log files of a dev loop. */
export const logsCommand: Command = {
  usage: '[service]',
  meaning: 'prints the last lines that the services of agentmesh dev have logged; default: of all services',
  options: [
    {
      flags: '--level <level>',
      meaning: 'the lowest level that is printed',
      default: 'info',
      choices: levels,
    },
    { flags: '--lines <count>', meaning: 'the number of lines', default: '100' },
    { flags: '--invocation <id>', meaning: 'the lines about this invocation alone' },
  ],
  async run([service], { cwd }, options) {
    const count = options.text('lines') ?? '';
    if (!/^[1-9]\d{0,6}$/.test(count))
      throw new Misuse(`--lines must be a number from 1; it is ${JSON.stringify(count)}`);
    const least = levels.indexOf(options.text('level') ?? 'info');
    const invocation = options.text('invocation');
    const isWanted = ({ level, text }: LoggedLine) =>
      (level === undefined || levels.indexOf(level) >= least) &&
      (invocation === undefined || text.includes(invocation));
    const lines = filesOf(cwd, service).flatMap(linesIn).filter(isWanted);
    const last = lines.sort((a, b) => a.time.localeCompare(b.time)).slice(-Number(count));
    return listReport(last, ({ service: name, text, level }) =>
      level === undefined ? `${name}: ${text}` : textLine(text).trimEnd(),
    );
  },
};

function filesOf(cwd: string, service: string | undefined): string[] {
  const folder = join(findProject(cwd) ?? cwd, meshFolder, 'logs');
  const names = existsSync(folder) ? readdirSync(folder).map((file) => basename(file, '.log')) : [];
  if (names.length === 0)
    throw new MeshError(
      'not_found',
      `${folder} has no logs; start agentmesh dev in the folder of your project`,
    );
  if (service === undefined) return names.map((name) => join(folder, `${name}.log`));
  if (names.includes(service)) return [join(folder, `${service}.log`)];
  const meant = nearest(service, names);
  const advice = meant ? `did you mean ${meant}?` : `there are logs of ${names.join(', ')}`;
  throw new MeshError('not_found', `there is no log of ${service}; ${advice}`);
}

function linesIn(file: string): LoggedLine[] {
  const service = basename(file, '.log');
  let time = '';
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((text) => {
      const record = recordIn(text);
      time = record?.time ?? time;
      return { service, text, time, ...(record && { level: record.level }) };
    });
}

const recordSchema = z.object({ level: z.string(), time: z.string() });

function recordIn(line: string): z.infer<typeof recordSchema> | undefined {
  try {
    return recordSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
