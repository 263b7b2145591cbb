import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import * as genai from '@google/genai';
import { describe, expect, it } from 'vitest';
import { FinishReason, isApiError, Language, Outcome, Type } from './genai.ts';

describe('the parts of @google/genai that do not load it', () => {
  it.each([
    [Type, genai.Type],
    [FinishReason, genai.FinishReason],
    [Language, genai.Language],
    [Outcome, genai.Outcome],
  ])('have its values: %j', (ours, theirs) => {
    expect(theirs).toMatchObject(ours);
  });

  it('know its errors', () => {
    expect(isApiError(new genai.ApiError({ message: 'busy', status: 503 }))).toBe(true);
    expect(isApiError(Object.assign(new Error('busy'), { status: 503 }))).toBe(false);
    expect(isApiError({ name: 'ApiError', status: 503 })).toBe(false);
  });

  it('are all that a process without a model loads', async () => {
    const index = new URL('../index.ts', import.meta.url).href;
    const script = `
      import { registerHooks } from 'node:module';
      const loaded = [];
      registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
      await import(${JSON.stringify(index)});
      console.log(JSON.stringify([loaded.length, loaded.filter((url) => url.includes('@google'))]));
    `;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
    const [count, ofGoogle] = JSON.parse(stdout);
    expect(count).toBeGreaterThan(50);
    expect(ofGoogle).toEqual([]);
  });
});
