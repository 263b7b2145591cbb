import type { Bytes } from './reply.ts';

/** Members in the order of their scores; members of one score in the order of their bytes. */
export class SortedSet {
  readonly #scores = new Map<Bytes, number>();
  readonly #members: Bytes[] = [];

  get size(): number {
    return this.#members.length;
  }

  scoreOf(member: Bytes): number | undefined {
    return this.#scores.get(member);
  }

  put(member: Bytes, score: number): void {
    this.remove(member);
    this.#members.splice(this.#placeOf(score, member), 0, member);
    this.#scores.set(member, score);
  }

  remove(member: Bytes): boolean {
    const score = this.#scores.get(member);
    if (score === undefined) return false;
    this.#members.splice(this.#placeOf(score, member), 1);
    return this.#scores.delete(member);
  }

  /** Returns the members from the position `start` to before `end`, each with its score. */
  slice(start: number, end: number): [member: Bytes, score: number][] {
    return this.#members.slice(start, end).map((member) => [member, this.#scores.get(member) ?? 0]);
  }

  /** Returns the number of members below a score, or, with `orEqual`, up to it. */
  countBelow(score: number, orEqual: boolean): number {
    return this.#search((member) => {
      const other = this.#scores.get(member) ?? 0;
      return other < score || (orEqual && other === score);
    });
  }

  clone(): SortedSet {
    const copy = new SortedSet();
    for (const [member, score] of this.#scores) copy.#scores.set(member, score);
    copy.#members.push(...this.#members);
    return copy;
  }

  #placeOf(score: number, member: Bytes): number {
    return this.#search((other) => {
      const otherScore = this.#scores.get(other) ?? 0;
      return otherScore < score || (otherScore === score && other < member);
    });
  }

  /** Returns the number of members at the front for which a test holds. */
  #search(isBefore: (member: Bytes) => boolean): number {
    let low = 0;
    let high = this.#members.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(this.#members[middle] ?? '')) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
