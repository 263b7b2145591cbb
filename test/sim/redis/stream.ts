import { type Bytes, ReplyError } from './reply.ts';

/** The id of an entry: a time in ms, and a number. Both are counted exactly up to 2^53. */
export type EntryId = readonly [time: number, number: number];

export interface Entry {
  id: EntryId;
  fields: readonly Bytes[];
  /** The number of the node that holds the entry: an approximate cut removes whole nodes. */
  node: number;
}

/** `stream-node-max-entries`, its default. */
const entriesOfNode = 100;

const max = Number.MAX_SAFE_INTEGER;
const firstId: EntryId = [0, 0];
const lastId: EntryId = [max, max];

export function idText([time, number]: EntryId): Bytes {
  return `${time}-${number}`;
}

export function compareIds(one: EntryId, other: EntryId): number {
  return one[0] - other[0] || one[1] - other[1];
}

/** Reads an id; one without a number gets `missing`. @throws ReplyError */
export function idIn(text: Bytes | undefined, missing: number): EntryId {
  const [, time, number] = /^(\d+)(?:-(\d+))?$/.exec(text ?? '') ?? [];
  if (time === undefined) throw new ReplyError('ERR Invalid stream ID specified as stream command argument');
  return [Number(time), number === undefined ? missing : Number(number)];
}

/** Reads the lower or the upper limit of a range, both inclusive. @throws ReplyError */
export function limitIn(text: Bytes | undefined, side: 'lower' | 'upper'): EntryId {
  if (text === '-') return firstId;
  if (text === '+') return lastId;
  const missing = side === 'lower' ? 0 : max;
  if (!text?.startsWith('(')) return idIn(text, missing);
  const [time, number] = idIn(text.slice(1), missing);
  if (side === 'lower') return [time, number + 1];
  if (number > 0) return [time, number - 1];
  return [time - 1, max];
}

/** A log of entries whose ids grow. */
export class Stream {
  readonly #entries: Entry[] = [];
  #lastId = firstId;
  #node = { number: 0, entries: 0 };

  get length(): number {
    return this.#entries.length;
  }

  get lastId(): EntryId {
    return this.#lastId;
  }

  add(id: EntryId, fields: readonly Bytes[]): void {
    if (this.#node.entries === entriesOfNode) this.#node = { number: this.#node.number + 1, entries: 0 };
    this.#node.entries += 1;
    this.#entries.push({ id, fields, node: this.#node.number });
    this.#lastId = id;
  }

  /** Returns the entries between two ids, both inclusive: the first ones up to a number, or the last ones. */
  range(
    from: EntryId,
    to: EntryId,
    most = Number.POSITIVE_INFINITY,
    side: 'first' | 'last' = 'first',
  ): Entry[] {
    const start = this.#placeOf(from);
    const end = this.#placeOf([to[0], to[1] + 1]);
    if (side === 'first') return this.#entries.slice(start, Math.min(end, start + most));
    return this.#entries.slice(Math.max(start, end - most), end).reverse();
  }

  remove(id: EntryId): boolean {
    const at = this.#placeOf(id);
    const entry = this.#entries[at];
    if (!entry || compareIds(entry.id, id) !== 0) return false;
    this.#entries.splice(at, 1);
    return true;
  }

  /** Removes the entries before an id. Returns their number. */
  cutBefore(id: EntryId): number {
    return this.#entries.splice(0, this.#placeOf(id)).length;
  }

  /** Removes the oldest entries beyond a number; only whole nodes if `isApproximate`. Returns their number. */
  cutTo(length: number, isApproximate: boolean): number {
    let count = Math.max(this.#entries.length - length, 0);
    if (isApproximate) {
      const isCutNode = (at: number) => this.#entries[at - 1]?.node === this.#entries[at]?.node;
      while (count > 0 && isCutNode(count)) count -= 1;
    }
    return this.#entries.splice(0, count).length;
  }

  clone(): Stream {
    const copy = new Stream();
    copy.#entries.push(...this.#entries);
    copy.#lastId = this.#lastId;
    copy.#node = { ...this.#node };
    return copy;
  }

  #placeOf(id: EntryId): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareIds(this.#entries[middle]?.id ?? lastId, id) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
