/** Turns texts into vectors; texts that mean much the same lie near each other. */
export interface Embedder {
  /** Names the vectors: those of one name can be compared, others not. */
  readonly name: string;
  /**
   * A vector of length 1 for each text, all of the same dimension.
   *
   * @param purpose a `query` is to be found near a `document` that answers it
   * @throws MeshError `invalid_argument` for texts that the model refuses; anything else when it does not answer
   */
  embed(
    texts: readonly string[],
    purpose: 'query' | 'document',
    signal?: AbortSignal,
  ): Promise<Float32Array[]>;
}
