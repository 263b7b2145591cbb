import { commands } from '@agentmesh/cli';
import { gatewayConfig } from '@agentmesh/gateway/config';
import { agentConfig } from '@agentmesh/mesh';
import { errorTable, subjects, subjectTable } from '@agentmesh/protocol';
import { type ConfigShape, describeConfig, serviceConfig } from '@agentmesh/service';
import { knownDifferences } from './contract/known-differences.ts';
import { httpRows } from './http-reference.ts';

/**
 * The tables in documents that are made from code, by file. `node test/write-docs.ts` writes them; a test
 * compares them.
 */
export const generatedTables: Record<string, () => string[]> = {
  'docs/errors.md': () =>
    table([
      ['code', 'meaning', 'try again?', 'HTTP', 'NATS'],
      ...Object.entries(errorTable).map(([code, { meaning, retryable, httpStatus, natsCode }]) => [
        `\`${code}\``,
        meaning,
        retryable ? 'yes' : 'no',
        String(httpStatus),
        String(natsCode),
      ]),
    ]),
  'docs/message-lifecycle.md': () =>
    table([
      ['subject', 'carried by', 'receivers'],
      ...subjectTable.map(({ subject, carriedBy, receivers }) => [
        `\`${subjects().root}.${subject}\``,
        carriedBy,
        receivers,
      ]),
    ]),
  'docs/command.md': () => [
    ...table([
      ['command', 'meaning'],
      ...Object.entries(commands).map(([name, { usage, meaning }]) => [
        // A bar would end the cell.
        `\`${[name, usage].filter(Boolean).join(' ').replaceAll('|', '\\|')}\``,
        meaning,
      ]),
    ]),
    '',
    ...table([
      ['option', 'command', 'meaning'],
      ...Object.entries(commands).flatMap(([name, { options = [] }]) =>
        options.map(({ flags, meaning, default: value }) => [
          `\`${flags}\``,
          `\`${name}\``,
          value === undefined ? meaning : `${meaning}; default \`${value}\``,
        ]),
      ),
    ]),
  ],
  'docs/http.md': () => [
    ...table([['route', 'meaning', 'role', 'query', 'body'], ...httpRows()]),
    '',
    "## Differences from ADK's server",
    '',
    'A test sends the same requests to the gateway and to the API server of ADK for JS 2.0.0, and compares the status, the content type and the types of all parts of the answers. These are all differences:',
    '',
    ...table([
      ['request', 'part', 'agentmesh', 'ADK', 'reason'],
      ...knownDifferences.map(({ request, at, agentmesh, adk, reason }) => [
        ...[request, `\`${at}\``, `\`${agentmesh}\``, `\`${adk}\``],
        reason,
      ]),
    ]),
  ],
  'docs/configuration.md': () => [
    ...variables('Every service', serviceConfig),
    '',
    ...variables('Agents, in addition', agentConfig),
    '',
    ...variables('The gateway, in addition', gatewayConfig),
  ],
};

function variables(title: string, shape: ConfigShape): string[] {
  return [
    `### ${title}`,
    '',
    ...table([
      ['variable', 'meaning', 'default'],
      ...describeConfig(shape).map(({ name, meaning, default: text, secret }) => [
        `\`${name}\``,
        `${meaning}${secret ? ' (secret: never printed)' : ''}`,
        text === undefined ? '' : `\`${text}\``,
      ]),
    ]),
  ];
}

/** Makes the lines of a table. The first row is the head; columns are as wide as their widest cell. */
function table(rows: string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((cells) => cells[at]?.length ?? 0)));
  const line = (cells: string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = rows;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)];
}

const begin = '<!-- generated: node test/write-docs.ts -->';
const end = '<!-- end of generated -->';

/** Puts a table between the marks of a document. */
export function withTable(document: string, lines: readonly string[]): string {
  const [before, rest] = split(document, begin);
  const [, after] = split(rest, end);
  return `${before}${begin}\n\n${lines.join('\n')}\n\n${end}${after}`;
}

function split(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  if (at === -1) throw new Error(`the mark ${mark} is missing`);
  return [text.slice(0, at), text.slice(at + mark.length)];
}
