/** What is known of an object beside its bytes. */
export interface StoredObject {
  /** In bytes. */
  size: number;
  /** Epoch ms. */
  createTime: number;
  metadata: Record<string, string>;
}

/** An object's bytes as they come. */
export interface OpenedObject extends StoredObject {
  /** To be read to its end or cancelled. Fails with MeshError `internal` when they are not what was put, `unavailable` when they have gone. */
  bytes: ReadableStream<Uint8Array>;
}

/**
 * Bytes of any length under ids. An object is there when all of it is. Waits for the connection as the bus does.
 *
 * All methods throw MeshError: `failed_precondition` when the bucket was not provisioned, `unavailable` while it cannot be reached.
 */
export interface ObjectBucket {
  /** Keeps a stream under a new id; of one that fails nothing is left. */
  put(
    bytes: AsyncIterable<Uint8Array>,
    metadata?: Record<string, string>,
  ): Promise<{ id: string; size: number }>;
  /** Undefined when there is none. */
  info(id: string): Promise<StoredObject | undefined>;
  open(id: string): Promise<OpenedObject | undefined>;
  /** Removes an object and what is left of one; what is not there without a word. */
  delete(id: string): Promise<void>;
  /**
   * Ids of all objects, and of those whose writer died at it. Reads the whole index: for cleaning up.
   */
  ids(): Promise<string[]>;
  /** When something was last written of an object, finished or not, in epoch ms. */
  lastWritten(id: string): Promise<number | undefined>;
}

/** A value, and the number of its last change; 0 where there never was one. */
export interface StoredRecord {
  value: Uint8Array | undefined;
  revision: number;
}

/**
 * Small values under keys, each change only upon the one that was read. Keys are tokens with dots between. Throws as {@link ObjectBucket}.
 */
export interface RecordBucket {
  read(key: string): Promise<StoredRecord>;
  /** False when the value is not any more of that revision. True may come out as false when the broker went away meanwhile: read again. */
  write(key: string, value: Uint8Array, revision: number): Promise<boolean>;
  /** As {@link write}: takes the key away. */
  remove(key: string, revision: number): Promise<boolean>;
  /** Keys that begin with these tokens. Reads the server's index, not values. */
  keys(...tokens: string[]): Promise<string[]>;
}
