import { transform } from './transform.ts';

/** A complete program that a text holds. */
export interface FoundProgram {
  /** Line of the text where it begins, from 1. */
  line: number;
  /** TypeScript, as the text has it. */
  source: string;
  /** The same as JavaScript. */
  code: string;
}

export interface Found {
  programs: FoundProgram[];
  /** Lines where a piece begins that imports ADK and runs nothing: it is no program. */
  pieces: number[];
}

/** A run of import statements; nothing that Python, Go or Java would write. */
const imports = /(?:^import\s+(?:type\s+)?[\w$*{}\s,]+?\s+from\s*['"][^'"\n]+['"];?\s*)+/gm;
/** A line that may be a program's last: a call. */
const call = /^\s*(?:await\s+)?[\w$.]+\(.*\);?\s*$/;

/**
 * Finds the programs in a document: in its fenced blocks of TypeScript, or in all of its text where it has no fences, as when they were lost
 * on the way. A program begins with its imports, one of them from `@google/adk`, and ends with the last call up to which all is TypeScript.
 */
export async function findPrograms(text: string): Promise<Found> {
  const fenced = [...text.matchAll(/^```(?:ts|typescript)\s*\n(.*?)^```/gms)];
  const hasFences = /^```/m.test(text);
  const blocks = hasFences
    ? fenced.map(({ 0: whole, 1: body = '', index }) => ({ body, at: index + whole.indexOf('\n') + 1 }))
    : [{ body: text, at: 0 }];
  const found: Found = { programs: [], pieces: [] };
  for (const { body, at } of blocks) {
    const starts = [...body.matchAll(imports)].filter(([group]) => group.includes('@google/adk'));
    for (const [index, start] of starts.entries()) {
      const piece = body.slice(start.index, starts[index + 1]?.index);
      const line = text.slice(0, at + start.index).split('\n').length;
      const program = await longestProgram(piece);
      if (program) found.programs.push({ line, ...program });
      else found.pieces.push(line);
    }
  }
  return found;
}

async function longestProgram(piece: string): Promise<{ source: string; code: string } | undefined> {
  const lines = piece.split('\n');
  const ends = lines.flatMap((line, index) => (call.test(line) ? [index + 1] : [])).toReversed();
  for (const end of ends) {
    const source = lines.slice(0, end).join('\n');
    const code = await transform(source).catch(() => undefined);
    if (code !== undefined) return { source, code };
  }
  return undefined;
}

/** The same program may stand in several documents, indented or not. */
export function isSameProgram(one: FoundProgram, other: FoundProgram): boolean {
  const bare = ({ code }: FoundProgram) => code.replace(/\s+/g, '');
  return bare(one) === bare(other);
}
