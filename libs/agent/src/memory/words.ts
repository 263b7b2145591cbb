import { foldedPieces } from './folding.ts';

/** How often each term occurs in a text, and how many terms it has in all. */
export interface TextTerms {
  counts: ReadonlyMap<string, number>;
  length: number;
}

/** A text has at most so many terms that differ; what comes after them is kept, and not found. */
const maxTerms = 10_000;
/** A query has at most so many words that count: a pasted page is no question. */
const maxQueryWords = 64;
/** So much of a query is looked at, in UTF-16 units. */
const maxQuery = 8_192;
/** What is written without a break is taken in parts of so many UTF-16 units. */
const maxRun = 4_096;

/** Scripts that write words without spaces between, or with endings at them. A search finds a word of theirs also within a longer one. */
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
 * The terms that a text is found by, in any language: words in one case and one form of writing, emoji; in scripts without spaces each pair of
 * neighbouring characters, as a word may be cut differently in a sentence and alone.
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

/** The words of a query, each as the terms that a text must have, all of them, to have the word. */
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
    for (const { 0: found, index } of folded.matchAll(run)) {
      end = index + found.length;
      // What is at the end may go on in the next piece.
      if (end === folded.length) rest = found;
      else yield yield* fullParts(found);
    }
    // Half a flag may be there.
    if (rest === '') rest = folded.slice(Math.max(end, folded.length - 2));
    rest = yield* fullParts(rest);
  }
  for (const [found] of rest.matchAll(run)) yield found;
}

/** Gives the parts of a run that are full, and returns what is left of it. */
function* fullParts(found: string): Generator<string, string> {
  let rest = found;
  while (rest.length > maxRun) {
    const part = rest.slice(0, maxRun).replace(/[\uD800-\uDBFF]$/, '');
    yield part;
    // In scripts without spaces the last character comes again, for the pair that it begins.
    const last = denseRun.test(part) ? (part.match(/.$/su)?.[0].length ?? 0) : 0;
    rest = rest.slice(part.length - last);
  }
  return rest;
}

/** Pairs of neighbours, and Chinese characters alone, as many of them are words. */
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
    // Korean words have endings: a part of the word counts too.
    if (hangul.test(segment) && pairs.length > 0) yield* pairs.map((pair) => [pair]);
    else yield [...new Set(pairs.length > 0 ? pairs : characters)];
  }
}
