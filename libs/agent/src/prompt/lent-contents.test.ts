import type { Content } from '@google/genai';
import { describe, expect, it } from 'vitest';
import { lendContents, readContents } from '../base/base-llm.ts';
import { deepFreeze } from '../events/freeze.ts';

function lend() {
  const contents: Content[] = [{ role: 'user', parts: [{ text: 'hi' }] }];
  deepFreeze(contents);
  return { contents, request: lendContents({ model: 'm', config: {}, toolsDict: {} }, contents) };
}

describe('the contents that a log lends to a request', () => {
  it('are the contents of the log, as long as they are only read', () => {
    const { contents, request } = lend();
    expect(readContents(request)).toBe(contents);
    expect(request.model).toBe('m');
    expect(readContents(request)).toBe(contents);
  });

  it('are copies for code that may change them, and for the model after it', () => {
    const { contents, request } = lend();
    const [first] = request.contents;
    Object.assign(first?.parts?.[0] ?? {}, { text: 'changed' });
    request.contents.push({ role: 'user', parts: [{ text: 'more' }] });
    expect(readContents(request)).toEqual([
      { role: 'user', parts: [{ text: 'changed' }] },
      { role: 'user', parts: [{ text: 'more' }] },
    ]);
    expect(readContents(request)).toBe(request.contents);
    expect(contents).toEqual([{ role: 'user', parts: [{ text: 'hi' }] }]);
  });

  it('give way to other contents', () => {
    const { request } = lend();
    request.contents = [{ role: 'user', parts: [{ text: 'other' }] }];
    expect(readContents(request)).toEqual([{ role: 'user', parts: [{ text: 'other' }] }]);
    expect(request.contents).toBe(readContents(request));
  });

  it('are in copies of the request and in its JSON', () => {
    const { contents, request } = lend();
    const copy = { ...request };
    expect(readContents(copy)).toEqual(contents);
    copy.contents.length = 0;
    expect(JSON.parse(JSON.stringify(lend().request))).toMatchObject({ model: 'm', contents });
    expect(Object.keys(lend().request)).toContain('contents');
  });
});
