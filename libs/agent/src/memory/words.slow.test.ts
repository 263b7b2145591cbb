import { describe, expect, it } from 'vitest';
import { queryWords, textTerms } from './words.ts';

const terms = (text: string) => [...textTerms(text).counts.keys()];

/** Expects a few seconds of CPU time at most. The prevented slowness takes half a minute. */
function expectFast(run: () => unknown): void {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000_000).toBeLessThan(5);
}

describe('words of a text', () => {
  it.each([
    ['signs out of order at one letter', `a${'\u0301'.repeat(100_000)}${'\u0323'.repeat(100_000)}`],
    ['signs at a letter that keeps them', `ж${'\u0301'.repeat(100_000)}${'\u0323'.repeat(100_000)}`],
    ['half-width voice signs', `か${'\uff9e\u0334'.repeat(100_000)}`],
    [
      'signs that unseen ones keep apart',
      `ж${'\u0301\u200d'.repeat(50_000)}${'\u0323\u200d'.repeat(50_000)}`,
    ],
    ['characters that become many', '\ufdfa'.repeat(1_000_000)],
    ['a word without an end', 'x'.repeat(9_000_000)],
    ['blanks', ' '.repeat(9_000_000)],
    ['characters without spaces', '茶'.repeat(3_000_000)],
    ['flags', '🇩🇪'.repeat(500_000)],
  ])('are found quickly in %s', (_, text) => {
    expectFast(() => textTerms(text));
    expectFast(() => queryWords(text));
  });

  it('do not depend on where the text is cut', () => {
    for (const shift of [0, 1, 2, 3, 4, 5, 6, 7]) {
      const text = `${'.'.repeat(shift)}${'ein Café über STRASSEN, '.repeat(400)}`;
      expect(terms(text)).toEqual(['ein', 'cafe', 'uber', 'strassen']);
      expect(textTerms(text).length).toBe(1_600);
    }
  });

  it('are complete in a text without blanks', () => {
    for (const shift of [0, 1, 2, 3, 4, 5]) {
      const before = '.'.repeat(shift);
      expect(terms(`${before}${'cafe\u0301,'.repeat(2_000)}`)).toEqual(['cafe']);
      expect(terms(`${before}${'🇩🇪'.repeat(3_000)}`)).toEqual(['🇩🇪']);
      expect(textTerms(`${before}${'🇩🇪'.repeat(3_000)}`).length).toBe(3_000);
      // These are composed Korean letters.
      expect(terms(`${before}${'\u1112\u1161\u11ab'.repeat(3_000)}`)).toEqual(['한한']);
    }
  });

  it('keep every pair of characters in a script without spaces', () => {
    const characters = Array.from({ length: 9_001 }, (_, at) => String.fromCodePoint(0x4e00 + at));
    const found = textTerms(characters.join('')).counts;
    expect(found.size).toBe(10_000);
    const pairs = characters.slice(0, 4_990).map((character, at) => `${character}${characters[at + 1]}`);
    expect(pairs.filter((pair) => !found.has(pair))).toEqual([]);
  });

  it('of astral characters are not cut in two', () => {
    for (const shift of ['', 'a'])
      expect(terms(`${shift}${'𐐀'.repeat(5_000)}`).every((term) => term.isWellFormed())).toBe(true);
  });

  it('include very long ones', () => {
    const long = Array.from({ length: 20_000 }, (_, at) => (at * at).toString(36)).join('');
    const found = textTerms(`so ${long} it is`).counts;
    expect(
      queryWords(long)
        .flat()
        .slice(0, -1)
        .every((word) => found.has(word)),
    ).toBe(true);
    expect(found.has('is')).toBe(true);
  });
});
