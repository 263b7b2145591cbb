import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { messageSchema } from '../messages/content.ts';
import { assertKnownFields, assertNoTypos } from './known-fields.ts';
import { parse } from './parse.ts';

const schema = z.object({
  sessionId: z.string(),
  newMessage: messageSchema,
  streaming: z.boolean().default(false),
  runConfig: z.object({ maxLlmCalls: z.number().optional() }).prefault({}),
});
const newMessage = { role: 'user', parts: [{ text: 'hi' }] };

describe('misspelled fields', () => {
  it.each([
    [{ sesionId: 's' }, 'sesionId', 'sessionId'],
    [{ streeming: true }, 'streeming', 'streaming'],
    [{ runConfig: { maxLlmCall: 3 } }, 'runConfig.maxLlmCall', 'runConfig.maxLlmCalls'],
    [{ newMessage: { part: [] } }, 'newMessage.part', 'newMessage.parts'],
    [{ newMessage: { parts: [{ txt: 'hi' }] } }, 'newMessage.parts.0.txt', 'newMessage.parts.0.text'],
  ])('%o: the field is named, and the one that was meant', (body, field, meant) => {
    expect(() => assertNoTypos(schema, { newMessage, ...body }, 'the body')).toThrow(
      `the body is not valid: field "${field}" is not known; did you mean ${meant}?`,
    );
  });

  it('pass when they are unlike all known ones, since other clients and newer models have more fields', () => {
    const parts = [{ inlineData: { data: '', mimeType: 'a/b' }, audioTranscription: {} }];
    const body = { functionCallEventId: 'e', customMetadata: {}, newMessage: { role: 'user', parts } };
    expect(() => assertNoTypos(schema, body, 'the body')).not.toThrow();
    expect(() => assertNoTypos(schema, null, 'the body')).not.toThrow();
  });

  it('are refused in the message of another program', () => {
    const command = z.object({ message: messageSchema });
    const misspelled = { message: { parts: [{ inline_data: {} }] } };
    expect(() => assertKnownFields(command, misspelled, 'the ask')).toThrow(
      'did you mean message.parts.0.inlineData?',
    );
    expect(() => assertKnownFields(command, { message: 'hi' }, 'the ask')).not.toThrow();
  });
});

it('names a field of a message with a wrong type', () => {
  const message = { parts: [{ text: 7 }] };
  expect(() => parse(z.object({ message: messageSchema }), { message }, 'the ask')).toThrow(
    /message\.parts\.0\.text: .*string/,
  );
});

it('names the unknown field of a strict schema, and the field that was meant', () => {
  const strict = z.strictObject({ pageSize: z.number().optional() });
  expect(() => parse(strict, { pagesize: 3, x: 1 }, 'the query')).toThrow(
    'the query is not valid: field "pagesize" is not known; did you mean pageSize?; field "x" is not known',
  );
});
