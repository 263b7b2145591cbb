import { gatewayConfig } from '@agentmesh/gateway/config';
import { errorTable } from '@agentmesh/protocol';
import { type ConfigShape, describeConfig, serviceConfig } from '@agentmesh/service';

/** The tables of docs that are made from code, by file. `node test/write-docs.ts` writes them; a test compares. */
export const generatedTables: Record<string, () => string[]> = {
  'docs/errors.md': () => [
    ...header(['code', 'meaning', 'try again?', 'HTTP', 'NATS']),
    ...Object.entries(errorTable).map(([code, { meaning, retryable, httpStatus, natsCode }]) =>
      row([`\`${code}\``, meaning, retryable ? 'yes' : 'no', String(httpStatus), String(natsCode)]),
    ),
  ],
  'docs/configuration.md': () => [
    ...variables('Every service', serviceConfig),
    '',
    ...variables('The gateway, in addition', gatewayConfig),
  ],
};

function variables(title: string, shape: ConfigShape): string[] {
  return [
    `### ${title}`,
    '',
    ...header(['variable', 'meaning', 'default']),
    ...describeConfig(shape).map(({ name, meaning, default: text, secret }) =>
      row([
        `\`${name}\``,
        `${meaning}${secret ? ' (secret: never printed)' : ''}`,
        text === undefined ? '' : `\`${text}\``,
      ]),
    ),
  ];
}

function header(cells: string[]): string[] {
  return [row(cells), row(cells.map(() => '---'))];
}

function row(cells: string[]): string {
  return `| ${cells.join(' | ')} |`;
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
