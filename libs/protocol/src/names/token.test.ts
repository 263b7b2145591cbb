import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MeshError } from '../errors/mesh-error.ts';
import { assertName } from './names.ts';
import { every, subjects } from './subjects.ts';
import { decodeToken, encodeToken, maxTokenLength } from './token.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 24 });

describe('tokens', () => {
  it('round-trip every text', () => {
    fc.assert(fc.property(anyText, (text) => decodeToken(encodeTokenOrSkip(text)) === text));
  });

  it('hold no syntax of a subject or a key', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const token = encodeTokenOrSkip(text);
        expect(token).toMatch(/^[A-Za-z0-9_=-]+$/);
        expect(token.length).toBeLessThanOrEqual(maxTokenLength);
      }),
    );
  });

  it('differ for different texts', () => {
    fc.assert(
      fc.property(anyText, anyText, (a, b) => (a === b) === (encodeTokenOrSkip(a) === encodeTokenOrSkip(b))),
    );
  });

  it('are refused when encodeToken cannot have made them', () => {
    for (const token of ['', 'a.b', 'a b', '=4', '=GG', '=41', '=ff', '=FF', 'a=', '*', '>', 'é', 'a\n']) {
      expect(() => decodeToken(token), JSON.stringify(token)).toThrow(MeshError);
    }
  });

  it('are not made of over-long names and ill-formed Unicode', () => {
    expect(() => encodeToken('x'.repeat(maxTokenLength + 1))).toThrow(/too long/);
    expect(() => encodeToken('ü'.repeat(17))).toThrow(/too long/);
    expect(() => encodeToken('\ud800')).toThrow(/well-formed/);
  });

  it('leave plain names readable', () => {
    expect(encodeToken('stock_agent')).toBe('stock_agent');
    expect(encodeToken('alice@example.com')).toBe('alice=40example=2Ecom');
    expect(encodeToken('')).toBe('=');
  });
});

function encodeTokenOrSkip(text: string): string {
  try {
    return encodeToken(text);
  } catch {
    fc.pre(false);
    return '';
  }
}

describe('subjects', () => {
  it('have a wildcard only for the symbol, never for a text', () => {
    const { invocationCancel, sessionNews, sessionEvent } = subjects();
    const ref = { appName: '*', userId: '*', sessionId: 'a.b' };
    expect(sessionNews(ref, '*', 'a.b')).toBe('mesh.v1.session.=2A.=2A.a=2Eb.news.none.=2A.a=2Eb');
    expect(invocationCancel('>', 's')).toBe('mesh.v1.invocation.=3E.cancel.s');
    expect(invocationCancel(every, every)).toBe('mesh.v1.invocation.*.cancel.*');
    expect(sessionEvent(ref, every, '>')).toBe('mesh.v1.session.=2A.=2A.a=2Eb.event.*.*.=3E');
  });
});

describe('names of tools', () => {
  const { shownAs, toolCall, toolJob, workConsumer, cardKey } = subjects();

  it('may hold the characters of function names of models', () => {
    for (const name of ['a', '_x', 'files.read', 'mcp:files-read.v2', `a${'.'.repeat(63)}${'b'.repeat(64)}`])
      expect(assertName('tool', name)).toBe(name);
    for (const name of ['', '1a', '.a', 'a b', 'a/b', 'ä', 'x'.repeat(129)])
      expect(() => assertName('tool', name), name).toThrow('at most 128');
  });

  it('are one token of a subject, of a key and of a consumer', () => {
    expect(toolCall('files.read:all')).toBe('mesh.v1.tool.files=2Eread=3Aall.call');
    expect(toolJob('x'.repeat(128))).toBe(`mesh.v1.tool.${'x'.repeat(128)}.job`);
    expect(cardKey('tool', 'files.read')).toBe('tool.files=2Eread');
    expect(decodeToken(workConsumer('files.read:all'))).toBe('files.read:all');
    expect(() => workConsumer('.'.repeat(128))).toThrow('use at most 255');
  });

  it('use the characters of the services protocol there, and stay different', () => {
    expect(shownAs('get_weather')).toBe('get_weather');
    expect(shownAs('files.read-all')).toBe('-files-2Eread-2Dall');
    expect(subjects('dev').shownAs('a.b')).toBe('dev--a-2Eb');
    const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_.:-]{0,20}$/);
    fc.assert(
      fc.property(name, name, (a, b) => {
        expect(shownAs(a)).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(shownAs(a) === shownAs(b)).toBe(a === b);
      }),
    );
  });
});
