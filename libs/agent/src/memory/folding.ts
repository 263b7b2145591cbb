/** How much of a text is looked at, in UTF-16 units, as it is or as it becomes: one character may become 18. */
const maxText = 1_000_000;
/** Normalizing takes time by the square of what it is given at worst. */
const pieceSize = 4_096;
/** More signs at one letter are dropped, as in UAX #15's Stream-Safe Text Format: putting them in order takes time by their square. */
const maxMarks = 30;

const mark = String.raw`[\p{M}\uFF9E\uFF9F]`;
const surplusMarks = new RegExp(`(?<=${mark}{${maxMarks}})${mark}`, 'gu');
/** The last blank, before which every text may be cut. */
const lastBlank = /\s\S*$/u;
/** The last character that is not joined to the one before it: as a sign at it, or as a part of a Korean syllable. */
const joined = String.raw`[\p{M}\p{Cf}\p{Emoji_Modifier}\u1160-\u11FF\uD7B0-\uD7FF\uFF9E\uFF9F\uFFA0-\uFFDC]`;
const lastUnjoined = new RegExp(`(?!${joined}).${joined}*$`, 'su');
// What many writers leave out: accents of Latin and Greek letters, Hebrew and Arabic vowels, the stroke that only widens, colours of emoji, and
// signs that are not seen.
const accents = /(?<=[\p{Script=Latin}\p{Script=Greek}])[\u0300-\u036F]+/gu;
const unwritten =
  /[\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u064B-\u065F\u0670\u0640]|\uFE0F|\p{Emoji_Modifier}|\p{Cf}/gu;

/** A text in one case and one form of writing, piece by piece; it is cut between words wherever there is a blank to cut at. */
export function* foldedPieces(text: string): Generator<string> {
  let left = maxText;
  for (let start = 0, end = 0; start < text.length && left > 0; start = end) {
    end = endOfPiece(text, start);
    const folded = fold(text.slice(start, end));
    left -= Math.max(folded.length, end - start);
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
  // Upper case first: it writes `ß` as `ss`, and every sigma as one.
  const folded = withoutSurplus(text).normalize('NFKC').toUpperCase().toLowerCase();
  const written = folded.normalize('NFKD').replace(accents, '').replace(unwritten, '');
  // What was taken out may have kept signs apart.
  return withoutSurplus(written).normalize('NFKC');
}

function withoutSurplus(text: string): string {
  return text.replace(surplusMarks, '');
}
