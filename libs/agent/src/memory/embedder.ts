/** A converter from texts to vectors. Texts with similar meaning have vectors that lie near each other. */
export interface Embedder {
  /** Name of the vector space. Only vectors of one name can be compared. */
  readonly name: string;
  /**
   * Returns a vector of length 1 for each text, all of the same dimension.
   *
   * @param purpose `query` for a text that searches, `document` for a text that is found
   * @throws MeshError `invalid_argument` for texts that the model refuses; another error when the model does
   * not answer
   */
  embed(
    texts: readonly string[],
    purpose: 'query' | 'document',
    signal?: AbortSignal,
  ): Promise<Float32Array[]>;
}
