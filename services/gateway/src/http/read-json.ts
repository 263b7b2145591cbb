import { MeshError } from '@agentmesh/protocol';

/**
 * The most lists and objects of a body, and how deep they may be nested: `JSON.parse` makes sixty bytes of each, so a
 * body of 10 MB could take some hundred MB.
 */
const most = { values: 500_000, depth: 1_000 };

const [quote, backslash] = [0x22, 0x5c];

/** Reads the JSON of a body. @throws MeshError `invalid_argument` */
export function readJson(text: string): unknown {
  assertModest(text);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new MeshError('invalid_argument', `the body is not JSON: ${(cause as Error).message}`, { cause });
  }
}

/** Looks at the lists and objects of a JSON text, and makes none. */
function assertModest(text: string): void {
  let [values, depth] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at);
      continue;
    }
    if (isClosing(code)) depth -= 1;
    if (!isOpening(code)) continue;
    values += 1;
    depth += 1;
    if (depth > most.depth) throw tooMuch(`is nested more than ${most.depth} deep`);
    if (values > most.values) throw tooMuch(`has more than ${most.values} lists and objects`);
  }
}

// The codes of [ and {, and of ] and }.
const isOpening = (code: number) => code === 0x5b || code === 0x7b;
const isClosing = (code: number) => code === 0x5d || code === 0x7d;

/** Returns the place of the quote that ends a string. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === backslash) backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

function tooMuch(what: string): MeshError {
  return new MeshError('invalid_argument', `the body ${what}; send less at once`);
}
