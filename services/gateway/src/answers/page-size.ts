/** Size of a page for which the pages are made smaller or larger, in bytes. */
const wantedBytes = 512 * 1024;
/** Greatest growth from one page to the next. */
const growth = 4;

/** The number of entries of the next page: as many as are likely to have half a MiB. */
export class PageSize {
  next: number;
  readonly #most: number;

  constructor({ first, most }: { first: number; most: number }) {
    this.next = first;
    this.#most = most;
  }

  /** Notes the size of a page: its entries, and its bytes. */
  note(entries: number, bytes: number): void {
    const fitting = Math.floor((entries * wantedBytes) / Math.max(bytes, 1));
    this.next = Math.max(1, Math.min(fitting, entries * growth, this.#most));
  }
}
