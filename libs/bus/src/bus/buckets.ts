import { MeshError } from '@agentmesh/protocol';

/** The description of an object, without its bytes. */
export interface StoredObject {
  /** In bytes. */
  size: number;
  /** Epoch ms. */
  createTime: number;
  metadata: Record<string, string>;
  /** The SHA-256 of the bytes in base64url; undefined for an object of another client with another digest. */
  digest: string | undefined;
}

/** A piece of an object. */
export interface StoredPiece {
  bytes: Uint8Array;
  /** The place at which the next piece is searched. */
  next: number;
}

/** The description of all pieces of an object. */
export interface ObjectPieces {
  /** Number of the pieces. */
  count: number;
  /** The place of the first piece, as {@link ObjectBucket.putPiece} returned it; 0 without pieces. */
  first: number;
  /** Length of all pieces together, in bytes. */
  size: number;
  /** The SHA-256 of the bytes in base64url. */
  digest: string;
}

/** An object whose bytes are read as a stream. */
export interface OpenedObject extends StoredObject {
  /**
   * The reader reads to the end or cancels. The stream fails with MeshError `internal` when the bytes differ
   * from the bytes that were put, and `unavailable` when they were deleted meanwhile.
   */
  bytes: ReadableStream<Uint8Array>;
}

/**
 * Bytes of any length under ids. An object can be read only after all of it is written. All methods wait for
 * the connection as the bus does.
 *
 * All methods throw MeshError: `failed_precondition` when the bucket was not provisioned, `unavailable` while
 * the bucket cannot be reached.
 */
export interface ObjectBucket {
  /** Stores a stream under a new id. Leaves nothing behind when the stream fails. */
  put(
    bytes: AsyncIterable<Uint8Array>,
    metadata?: Record<string, string>,
  ): Promise<{ id: string; size: number }>;
  /**
   * Stores a piece of an object that is written piece by piece, by any process that knows the id: letters, digits,
   * `_` and `-`. A piece that is stored again within two minutes is stored once. Returns the place of the piece.
   */
  putPiece(id: string, index: number, bytes: Uint8Array): Promise<number>;
  /**
   * Completes an object from its pieces. May be repeated.
   *
   * @throws MeshError `failed_precondition` when another number of pieces is stored
   */
  complete(id: string, pieces: ObjectPieces, metadata?: Record<string, string>): Promise<void>;
  /** Returns the number of the stored pieces of an object, finished or not. */
  pieceCount(id: string): Promise<number>;
  /** Returns the first piece of an object from a place on, 0 for the beginning; undefined when there is none. */
  piece(id: string, from: number): Promise<StoredPiece | undefined>;
  /** Returns undefined when there is no such object. */
  info(id: string): Promise<StoredObject | undefined>;
  open(id: string): Promise<OpenedObject | undefined>;
  /**
   * Removes an object, or the pieces of an unfinished object. Does nothing when there is neither an object
   * nor a piece.
   */
  delete(id: string): Promise<void>;
  /**
   * Returns the ids of all objects, including unfinished objects. Reads the whole index; meant for cleaning
   * up.
   */
  ids(): Promise<string[]>;
  /** Returns the time of the last write to an object, finished or not, in epoch ms. */
  lastWritten(id: string): Promise<number | undefined>;
}

/** A value, and the number of its last change; 0 for a key that was never written. */
export interface StoredRecord {
  value: Uint8Array | undefined;
  revision: number;
}

/**
 * Small values under keys. A change succeeds only when the value has not changed since it was read. Keys are
 * tokens with dots between them. Throws the errors of {@link ObjectBucket}.
 */
export interface RecordBucket {
  /** Tells whether this service has the right to read the bucket. */
  isReadable(): Promise<boolean>;
  read(key: string): Promise<StoredRecord>;
  /**
   * Returns false when the value has another revision by now. When the broker was away meanwhile, a
   * successful write may also return false: read again.
   */
  write(key: string, value: Uint8Array, revision: number): Promise<boolean>;
  /** Removes the key, under the conditions of {@link write}. */
  remove(key: string, revision: number): Promise<boolean>;
  /** Returns the keys that begin with these tokens. Reads the server's index, not the values. */
  keys(...tokens: string[]): Promise<string[]>;
}

/** Makes the error for an object whose pieces are not those that its writer counted. */
export function otherPieces(count: number, stored: number): MeshError {
  return new MeshError(
    'failed_precondition',
    `the object has ${stored} pieces, not ${count}; write it again under a new id`,
  );
}
