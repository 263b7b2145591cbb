/** Saturation of repeated words: the smaller, the sooner a repetition adds nothing. */
const saturation = 1.2;
/** Penalty for long texts, from 0 to 1. */
const lengthWeight = 0.75;
/**
 * Number of terms in a usual text. BM25 uses the average, but then every added text would change every score.
 */
const usualLength = 32;

/**
 * Returns the weight of a term in a text: BM25's part for the text (Robertson and Zaragoza 2009), up to 2.2.
 */
export function impactOf(count: number, length: number): number {
  const norm = saturation * (1 - lengthWeight + (lengthWeight * length) / usualLength);
  return (count * (saturation + 1)) / (count + norm);
}

/** Returns the weight of a term by its rarity among the texts: BM25's part for the term. */
export function rarityOf(texts: number, having: number): number {
  return Math.log(1 + (texts - having + 0.5) / (having + 0.5));
}
