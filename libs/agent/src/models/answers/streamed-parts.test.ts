import type { FunctionCall, Part } from '@google/genai';
import { describe, expect, it } from 'vitest';
import { StreamedParts } from './streamed-parts.ts';

function assembled(...parts: Part[]): Part[] {
  const whole = new StreamedParts();
  for (const part of parts) whole.add(part);
  return whole.parts;
}

const calls = (...pieces: FunctionCall[]) => assembled(...pieces.map((functionCall) => ({ functionCall })));

describe('the parts of a stream', () => {
  it('join words to words and thoughts to thoughts, and leave all else alone', () => {
    const image: Part = { inlineData: { mimeType: 'image/png', data: 'AA==' } };
    expect(
      assembled(
        { text: 'hm, ', thought: true },
        { text: 'well', thought: true },
        { text: 'I ' },
        { text: 'see' },
        image,
        { text: '' },
        { text: 'it' },
        { functionCall: { name: 'a', args: {} } },
        { functionCall: { name: 'b', args: {} } },
      ),
    ).toEqual([
      { text: 'hm, well', thought: true },
      { text: 'I see' },
      image,
      { text: 'it' },
      { functionCall: { name: 'a', args: {} } },
      { functionCall: { name: 'b', args: {} } },
    ]);
  });

  it('keep each thought signature at the part that it came with', () => {
    const parts: Part[] = [
      { text: 'a' },
      { text: 'b', thoughtSignature: 'c2ln' },
      { text: 'c' },
      { text: 'd', thought: true, thoughtSignature: 'c2ln' },
      { text: 'e', thought: true },
      { text: '', thoughtSignature: 'c2ln' },
      { functionCall: { name: 'f', args: {} }, thoughtSignature: 'c2ln' },
    ];
    expect(assembled(...parts)).toEqual(parts);
  });

  it('put a call together whose arguments come in pieces', () => {
    const path = (jsonPath: string, value: object) => ({ jsonPath, ...value });
    const whole = calls(
      { name: 'book', id: 'c1', willContinue: true },
      { partialArgs: [path('$.city', { stringValue: 'Os', willContinue: true })], willContinue: true },
      { partialArgs: [path('$.city', { stringValue: 'lo' })], willContinue: true },
      {
        partialArgs: [
          path('$.guests[0].name', { stringValue: 'Ann' }),
          path('$.guests[1].age', { numberValue: 7 }),
          path("$['late check-in']", { boolValue: false }),
          path('$["note"]', { nullValue: 'NULL_VALUE' }),
        ],
        willContinue: true,
      },
      {},
      { name: 'then', args: { whole: true } },
    );
    const args = {
      city: 'Oslo',
      guests: [{ name: 'Ann' }, { age: 7 }],
      'late check-in': false,
      note: null,
    };
    expect(whole).toEqual([
      { functionCall: { name: 'book', id: 'c1', args } },
      { functionCall: { name: 'then', args: { whole: true } } },
    ]);
  });

  it('begin a new call where one comes before the last was closed', () => {
    const piece = (name: string): FunctionCall => ({
      name,
      partialArgs: [{ jsonPath: '$.of', stringValue: name }],
      willContinue: true,
    });
    expect(calls(piece('a'), piece('b')).map(({ functionCall }) => functionCall)).toEqual([
      { name: 'a', args: { of: 'a' }, willContinue: true },
      { name: 'b', args: { of: 'b' }, willContinue: true },
    ]);
  });

  it('write only to the arguments themselves', () => {
    const partialArgs = ['$.__proto__.evil', '$.constructor.prototype.evil', '$', ''].map((jsonPath) => ({
      jsonPath,
      stringValue: 'x',
    }));
    const [call] = calls({ name: 'a', partialArgs });
    expect(call?.functionCall?.args).toEqual({ constructor: { prototype: { evil: 'x' } } });
    expect(Reflect.get({}, 'evil')).toBeUndefined();
    expect(Reflect.get(Object, 'evil')).toBeUndefined();
  });
});
