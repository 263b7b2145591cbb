import type { Part } from '@google/genai';
import { describe, expect, it } from 'vitest';
import { saysSomething, withoutBareParts } from './part-data.ts';

const sig = 'c2ln';
const call: Part = { functionCall: { name: 'f', args: {} } };

describe('parts without data', () => {
  it.each<[string, Part[], Part[]]>([
    [
      'leave their signature to the part before',
      [{ text: 'a' }, { thoughtSignature: sig }],
      [{ text: 'a', thoughtSignature: sig }],
    ],
    ['or to the part after', [{ thoughtSignature: sig }, call], [{ ...call, thoughtSignature: sig }]],
    [
      'which is not a thought, if there is another',
      [{ text: 'hm', thought: true }, { text: '', thoughtSignature: sig }, call],
      [
        { text: 'hm', thought: true },
        { ...call, thoughtSignature: sig },
      ],
    ],
    [
      'or to a thought',
      [{ text: 'hm', thought: true }, { thoughtSignature: sig }],
      [{ text: 'hm', thought: true, thoughtSignature: sig }],
    ],
    [
      'and not to a part with its own',
      [{ ...call, thoughtSignature: 'b3du' }, { thoughtSignature: sig }],
      [{ ...call, thoughtSignature: 'b3du' }],
    ],
    [
      'vanish',
      [
        {},
        { thought: true },
        { text: '' },
        { inlineData: { mimeType: 'image/png' } },
        { odd: { a: 1 } } as Part,
      ],
      [],
    ],
  ])('%s', (_what, parts, expected) => {
    expect(withoutBareParts(parts)).toEqual(expected);
  });

  it('are not looked for twice: parts with data are the same list', () => {
    const parts = [{ text: 'a' }, call];
    expect(withoutBareParts(parts)).toBe(parts);
  });

  it('say nothing, nor do blank texts and thoughts', () => {
    expect(
      [{}, { text: ' \n' }, { text: 'hm', thought: true }, { text: 1 } as unknown as Part].some(
        saysSomething,
      ),
    ).toBe(false);
    expect(
      [{ text: 'a' }, call, { inlineData: { mimeType: 'image/png', data: 'AA==' } }].every(saysSomething),
    ).toBe(true);
  });
});
