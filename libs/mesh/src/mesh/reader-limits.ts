import pLimit, { type LimitFunction } from 'p-limit';

/** A limit of memory that several readers share. */
export interface SharedLimit {
  readonly most: number;
  /** The bytes that wait for these readers. */
  waiting: number;
}

/** The limits that all readers of one mesh share: they bound the memory of its process. */
export interface ReaderLimits {
  /**
   * The pages of logs that are read at once. An event may have many MB, and is in memory several times while it is
   * read: as bytes, as text and as an object.
   */
  readonly pages: LimitFunction;
  /** The memory for the news of all slow readers. */
  readonly news: SharedLimit;
  /** The memory for the events of answers that begin at the end of their runs. */
  readonly answers: SharedLimit;
}

export function createReaderLimits(): ReaderLimits {
  const shared = () => ({ most: 32 * 1024 * 1024, waiting: 0 });
  return { pages: pLimit(3), news: shared(), answers: shared() };
}
