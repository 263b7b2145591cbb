import { transform } from './transform.ts';

/** A complete program in a text. */
export interface FoundProgram {
  /** The number of its first line in the text, from 1. */
  line: number;
  /** The program in TypeScript, as in the text. */
  source: string;
  /** The same program in JavaScript. */
  code: string;
}

export interface Found {
  programs: FoundProgram[];
  /** Lines where a piece begins that imports ADK and runs nothing: it is no program. */
  pieces: number[];
}

/** The pattern of import statements, which matches no import of Python, Go or Java. */
const imports = /(?:^import\s+(?:type\s+)?[\w$*{}\s,]+?\s+from\s*['"][^'"\n]+['"];?\s*)+/gm;
/** The pattern of a possible last line of a program: a call. */
const call = /^\s*(?:await\s+)?[\w$.]+\(.*\);?\s*$/;

/**
 * Finds the programs in a document: in its fenced blocks of TypeScript, or in its whole text when it has no
 * fences. A program begins with its imports, one of them from `@google/adk`. It ends with the last call up to
 * which the text is valid TypeScript.
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

/** Tells whether two programs are equal except for their indentation. */
export function isSameProgram(one: FoundProgram, other: FoundProgram): boolean {
  const bare = ({ code }: FoundProgram) => code.replace(/\s+/g, '');
  return bare(one) === bare(other);
}
