import { expect, it } from 'vitest';
import { assertNotEncoded, assertUtf8, readJson as readBytes } from './read-json.ts';

const readJson = (text: string) => readBytes(Buffer.from(text));

it('reads JSON, whatever its strings hold', () => {
  const value = { a: ['[[[', '{"', '\\', '\\"', '\\\\"[', ''], b: { c: [1, null, true] }, '[': '"' };
  expect(readJson(JSON.stringify(value))).toEqual(value);
  const brackets = ['['.repeat(2_000), `"${'{'.repeat(600_000)}\\`];
  expect(readJson(JSON.stringify(brackets))).toEqual(brackets);
});

it.each(['{', '"', '"\\"', '[1,]', ']', 'x'])('refuses what is no JSON: %s', (text) => {
  expect(() => readJson(text)).toThrow('the body is not JSON');
});

it.each([
  [`${'['.repeat(1_000)}${']'.repeat(1_000)}`, undefined],
  [`${'['.repeat(1_001)}${']'.repeat(1_001)}`, 'nested more than 1000 deep'],
  [`${'{"a":'.repeat(1_001)}1${'}'.repeat(1_001)}`, 'nested more than 1000 deep'],
  [`[${'{},'.repeat(499_998)}{}]`, undefined],
  [`[${'{},'.repeat(499_999)}{}]`, 'more than 500000 lists and objects'],
])('refuses bodies that take much memory (%#)', (text, problem) => {
  if (problem === undefined) expect(() => readJson(text)).not.toThrow();
  else expect(() => readJson(text)).toThrow(problem);
});

it('refuses a whole number that would become another one', () => {
  const read = (text: string) => () => readJson(text);
  expect(read('{"args":{"id":9007199254740993}}')).toThrow(
    'the field "id" of the body is the whole number 9007199254740993, which a JSON number of JavaScript does not hold; send it as a string',
  );
  expect(read('{"id":9007199254740992}')()).toEqual({ id: 9007199254740992 });
});

it('reads a body that begins with a byte order mark', () => {
  expect(readJson('\uFEFF{"a":1}')).toEqual({ a: 1 });
});

it('refuses bytes that are no UTF-8', () => {
  expect(readJson('{"a":"é"}')).toEqual({ a: 'é' });
  const bytes = Buffer.from([...Buffer.from('{"a":"'), 0xff, 0xfe, ...Buffer.from('"}')]);
  expect(() => readBytes(bytes)).toThrow('not UTF-8');
  expect(() => readBytes(Buffer.from('{"a":"é"}', 'latin1'))).toThrow('not UTF-8');
});

it.each(['{"__proto__":1}', '{"a":[{"__proto__":{"b":1}}]}', '{"\\u005f_pr\\u006Fto__" :1}'])(
  'refuses the key of the prototype: %s',
  (text) => {
    expect(() => readJson(text)).toThrow('the key __proto__');
  },
);

it('reads a text about the key of the prototype', () => {
  const value = { a: '__proto__', b: '{"__proto__":1}', proto: '\u005f' };
  expect(readJson(JSON.stringify(value))).toEqual(value);
});

it('passes bodies that are sent as they are', () => {
  for (const headers of [{}, { 'content-encoding': 'identity' }, { 'content-encoding': 'Identity' }])
    expect(() => assertNotEncoded(headers)).not.toThrow();
});

it.each(['gzip', 'br', 'deflate, gzip', ''])('refuses the encoding %j by its header', (encoding) => {
  const refusal = expect.objectContaining({
    statusCode: 415,
    message: expect.stringContaining('content-encoding'),
  });
  expect(() => assertNotEncoded({ 'content-encoding': encoding })).toThrow(refusal);
});

it.each([
  'application/json',
  'application/json; charset=utf-8',
  'application/json;charset="UTF-8"',
  'application/json; charset=utf8; version=1',
])('passes %s', (type) => {
  expect(() => assertUtf8({ 'content-type': type })).not.toThrow();
});

it.each(['utf-16', 'UTF-16LE', 'iso-8859-1'])('refuses the charset %s by its name', (charset) => {
  const refusal = expect.objectContaining({ statusCode: 415, message: expect.stringContaining(charset) });
  for (const type of [`application/json; charset=${charset}`, `application/json;charset="${charset}"`])
    expect(() => assertUtf8({ 'content-type': type })).toThrow(refusal);
});

it.each([
  ['{"a":{"b":1e400}}', 'the field "b" of the body is a number of more than 300 digits'],
  ['[-1E+400]', 'more than 300 digits'],
  [`{"a":${'9'.repeat(310)}}`, 'more than 300 digits'],
  ['{"a":"x\\ud83d"}', 'the field "a" of the body has half of a character'],
  ['{"\\uDE00":1}', 'half of a character'],
])('refuses what would come back as something else: %s', (text, problem) => {
  expect(() => readJson(text)).toThrow(problem);
});

it.each(['{"a":1e308}', '{"a":"\\ud83d\\ude00"}', '{"a":"1e400"}', `{"a":0.${'1'.repeat(400)}}`])(
  'reads what only looks like that: %s',
  (text) => {
    expect(readJson(text)).toEqual(JSON.parse(text));
  },
);
