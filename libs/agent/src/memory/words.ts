/** How often each term occurs in a text, and how many terms it has in all. */
export interface TextTerms {
  counts: ReadonlyMap<string, number>;
  length: number;
}

/** A text has at most so many terms that differ; what comes after them is kept, and not found. */
const maxTerms = 10_000;
/** A query has at most so many words that count: a pasted page is no question. */
const maxQueryWords = 64;

/** Scripts that write words without spaces between, or with endings at them. A search finds a word of theirs also within a longer one. */
const dense = String.raw`(?:(?=[\p{L}\p{M}\p{N}])[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}])`;
const denseRun = new RegExp(`${dense}+`, 'u');
const run = new RegExp(
  String.raw`${dense}+|(?:(?!${dense})[\p{L}\p{M}\p{N}])+|\p{RI}\p{RI}|\p{Extended_Pictographic}`,
  'gu',
);
const han = /\p{scx=Han}/u;
const hangul = /\p{scx=Hang}/u;
// What many writers leave out: accents of Latin and Greek letters, Hebrew and Arabic vowels, the stroke that only widens, colours of emoji, and
// signs that are not seen.
const accents = /(?<=[\p{Script=Latin}\p{Script=Greek}])[\u0300-\u036F]+/gu;
const unwritten =
  /[\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u064B-\u065F\u0670\u0640]|\uFE0F|\p{Emoji_Modifier}|\p{Cf}/gu;
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
  for (const text of runsOf(query)) {
    for (const terms of denseRun.test(text) ? denseWords(text) : [[text]]) {
      if (words.size >= maxQueryWords) return [...words.values()];
      words.set(terms.join(' '), terms);
    }
  }
  return [...words.values()];
}

function* runsOf(text: string): Generator<string> {
  for (const [found] of fold(text).matchAll(run)) yield found;
}

function fold(text: string): string {
  // Upper case first: it writes `ß` as `ss`, and every sigma as one.
  const folded = text.normalize('NFKC').toUpperCase().toLowerCase();
  return folded.normalize('NFKD').replace(accents, '').replace(unwritten, '').normalize('NFKC');
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
