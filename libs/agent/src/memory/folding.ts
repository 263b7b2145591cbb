/**
 * Length of a text that is processed, in UTF-16 units, before or after folding: folding may turn one
 * character into 18.
 */
const maxText = 1_000_000;
/** Size of the pieces, because normalizing takes quadratic time at worst. */
const pieceSize = 4_096;
/**
 * Maximum number of marks at one letter; further marks are dropped, as in UAX #15's Stream-Safe Text Format.
 * Sorting them takes quadratic time.
 */
const maxMarks = 30;

const mark = String.raw`[\p{M}\uFF9E\uFF9F]`;
const surplusMarks = new RegExp(`(?<=${mark}{${maxMarks}})${mark}`, 'gu');
/** The last blank. A text may be cut before it. */
const lastBlank = /\s\S*$/u;
/** The last character that is not joined to the previous one, as a mark or a part of a Korean syllable is. */
const joined = String.raw`[\p{M}\p{Cf}\p{Emoji_Modifier}\u1160-\u11FF\uD7B0-\uD7FF\uFF9E\uFF9F\uFFA0-\uFFDC]`;
const lastUnjoined = new RegExp(`(?!${joined}).${joined}*$`, 'su');
// Signs that many writers leave out: accents of Latin and Greek letters, Hebrew and Arabic vowels, the stroke
// that only widens, colours of emoji, and invisible signs.
const accents = /(?<=[\p{Script=Latin}\p{Script=Greek}])[\u0300-\u036F]+/gu;
const unwritten =
  /[\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u064B-\u065F\u0670\u0640]|\uFE0F|\p{Emoji_Modifier}|\p{Cf}/gu;

/**
 * Yields a text in one case and one normal form, piece by piece. It is cut between words if there is a blank.
 */
export function* foldedPieces(text: string): Generator<string> {
  let remaining = maxText;
  for (let start = 0, end = 0; start < text.length && remaining > 0; start = end) {
    end = endOfPiece(text, start);
    const folded = fold(text.slice(start, end));
    remaining -= Math.max(folded.length, end - start);
    yield folded;
  }
}

function endOfPiece(text: string, start: number): number {
  const end = start + pieceSize;
  if (end >= text.length) return text.length;
  const piece = text.slice(start, end);
  const cut = lastBlank.exec(piece)?.index || lastUnjoined.exec(piece)?.index;
  return cut ? start + cut : end;
}

function fold(text: string): string {
  // The upper case comes first: it turns `ß` into `ss`, and gives every sigma one form.
  const folded = withoutSurplus(text).normalize('NFKC').toUpperCase().toLowerCase();
  const written = folded.normalize('NFKD').replace(accents, '').replace(unwritten, '');
  // The removed signs may have kept marks apart; normalizing again joins them.
  return withoutSurplus(written).normalize('NFKC');
}

function withoutSurplus(text: string): string {
  return text.replace(surplusMarks, '');
}
