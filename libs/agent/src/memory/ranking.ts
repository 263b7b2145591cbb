/** How soon more of the same word adds no more. */
const saturation = 1.2;
/** How much a long text counts less, from 0 to 1. */
const lengthWeight = 0.75;
/** Terms of a text of usual length. A constant where BM25 has the average, which would change every score with every text that is added. */
const usualLength = 32;

/** What an occurrence of a term is worth in a text: BM25's share of the text (Robertson and Zaragoza 2009), up to 2.2. */
export function impactOf(count: number, length: number): number {
  const norm = saturation * (1 - lengthWeight + (lengthWeight * length) / usualLength);
  return (count * (saturation + 1)) / (count + norm);
}

/** What a term is worth among so many texts, of which so many have it: BM25's share of the term. */
export function rarityOf(texts: number, having: number): number {
  return Math.log(1 + (texts - having + 0.5) / (having + 0.5));
}
