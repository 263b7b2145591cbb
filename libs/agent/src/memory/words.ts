import { foldedPieces } from './folding.ts';

/** The number of each term in a text, and the number of all terms. */
export interface TextTerms {
  counts: ReadonlyMap<string, number>;
  length: number;
}

/** Maximum number of different terms of a text. Later terms are stored but not found. */
const maxTerms = 10_000;
/** Maximum number of words of a query. A longer text is a pasted page, not a question. */
const maxQueryWords = 64;
/** Length of a query that is processed, in UTF-16 units. */
const maxQuery = 8_192;
/** Size of the parts of a text without blanks, in UTF-16 units. */
const maxRun = 4_096;

/**
 * Scripts that write words without spaces, or with endings. A search finds such a word within a longer one,
 * too.
 */
const dense = String.raw`(?:(?=[\p{L}\p{M}\p{N}])[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}])`;
const denseRun = new RegExp(`${dense}+`, 'u');
const run = new RegExp(
  String.raw`${dense}+|(?:(?!${dense})[\p{L}\p{M}\p{N}])+|\p{RI}\p{RI}|\p{Extended_Pictographic}`,
  'gu',
);
const han = /\p{scx=Han}/u;
const hangul = /\p{scx=Hang}/u;
const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });

/**
 * Counts the terms of a text, in any language: words in one case and one normal form, and emoji. In scripts
 * without spaces each pair of neighbouring characters is a term, because a word may be cut differently in a
 * sentence and alone.
 */
export function textTerms(text: string): TextTerms {
  const counts = new Map<string, number>();
  let length = 0;
  for (const word of runsOf(text)) {
    for (const term of denseRun.test(word) ? grams(word) : [word]) {
      const count = counts.get(term) ?? 0;
      if (count === 0 && counts.size >= maxTerms) return { counts, length };
      counts.set(term, count + 1);
      length += 1;
    }
  }
  return { counts, length };
}

/** Returns the words of a query, each as the terms that a text must all have. */
export function queryWords(query: string): string[][] {
  const words = new Map<string, string[]>();
  for (const text of runsOf(query.slice(0, maxQuery))) {
    for (const terms of denseRun.test(text) ? denseWords(text) : [[text]]) {
      if (words.size >= maxQueryWords) return [...words.values()];
      words.set(terms.join(' '), terms);
    }
  }
  return [...words.values()];
}

function* runsOf(text: string): Generator<string> {
  let rest = '';
  for (const piece of foldedPieces(text)) {
    const folded = rest + piece;
    let end = 0;
    rest = '';
    for (const { 0: match, index } of folded.matchAll(run)) {
      end = index + match.length;
      // The end of a piece may continue in the next piece.
      if (end === folded.length) rest = match;
      else yield yield* fullParts(match);
    }
    // Half a flag may be at the end.
    if (rest === '') rest = folded.slice(Math.max(end, folded.length - 2));
    rest = yield* fullParts(rest);
  }
  for (const [match] of rest.matchAll(run)) yield match;
}

/** Yields the complete parts of a run, and returns the rest. */
function* fullParts(match: string): Generator<string, string> {
  let rest = match;
  while (rest.length > maxRun) {
    const part = rest.slice(0, maxRun).replace(/[\uD800-\uDBFF]$/, '');
    yield part;
    // In scripts without spaces the last character is repeated, for the pair that it begins.
    const last = denseRun.test(part) ? (part.match(/.$/su)?.[0].length ?? 0) : 0;
    rest = rest.slice(part.length - last);
  }
  return rest;
}

/** Yields pairs of neighbours, and single Chinese characters, because many of them are words. */
function* grams(word: string): Generator<string> {
  const characters = [...word];
  for (const [at, character] of characters.entries()) {
    const next = characters[at + 1];
    if (next !== undefined) yield character + next;
    if (han.test(character) || characters.length === 1) yield character;
  }
}

function* denseWords(text: string): Generator<string[]> {
  for (const { segment } of segmenter.segment(text)) {
    const characters = [...segment];
    const pairs = characters.slice(1).map((character, at) => `${characters[at]}${character}`);
    // Korean words have endings, so a part of the word counts too.
    if (hangul.test(segment) && pairs.length > 0) yield* pairs.map((pair) => [pair]);
    else yield [...new Set(pairs.length > 0 ? pairs : characters)];
  }
}
