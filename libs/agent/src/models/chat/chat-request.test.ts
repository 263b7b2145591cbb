import type { Content, GenerateContentConfig, Part } from '@google/genai';
import { FunctionCallingConfigMode, ThinkingLevel, Type } from '@google/genai';
import { describe, expect, it } from 'vitest';
import { toBody } from './chat-request.ts';

const hello: Content[] = [{ role: 'user', parts: [{ text: 'hi' }] }];
const body = (config: GenerateContentConfig, contents = hello) =>
  toBody({ model: 'm', contents, config, toolsDict: {} });
const user = (...parts: Part[]) => body({}, [{ role: 'user', parts }]).messages[0];
const file = (mimeType: string, data = 'aGk=') => ({ inlineData: { mimeType, data } });
const tools = [{ functionDeclarations: [{ name: 'a' }, { name: 'b' }] }];
const choose = (mode: FunctionCallingConfigMode, allowedFunctionNames?: string[]) =>
  body({
    tools,
    toolConfig: { functionCallingConfig: { mode, ...(allowedFunctionNames && { allowedFunctionNames }) } },
  });

describe('a request to chat completions', () => {
  it('has files in their own form', () => {
    expect(
      user({ text: 'see' }, file('image/png'), file('audio/wav'), file('application/pdf')),
    ).toMatchObject({
      content: [
        { type: 'text', text: 'see' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
        { type: 'input_audio', input_audio: { data: 'aGk=', format: 'wav' } },
        { type: 'file', file: { file_data: 'data:application/pdf;base64,aGk=' } },
      ],
    });
    expect(user(file('image/png'))).toMatchObject({ content: [{ type: 'image_url' }] });
    expect(user(file('text/csv; charset=utf-8'))).toMatchObject({ content: 'hi' });
    expect(user({ fileData: { mimeType: 'image/jpeg', fileUri: 'https://a.example/x.jpg' } })).toMatchObject({
      content: [{ image_url: { url: 'https://a.example/x.jpg' } }],
    });
  });

  it('has words in the place of files that the interface does not take', () => {
    expect(user(file('video/mp4'))).toMatchObject({
      content: '[a file of type video/mp4 and 2 bytes, which cannot be shown to this model]',
    });
    expect(user({ fileData: { mimeType: 'image/png', fileUri: 'gs://b/x' } })).toMatchObject({
      content: '[a file of type image/png, at gs://b/x, which this model cannot open]',
    });
  });

  it.each<[string, () => unknown, RegExp]>([
    ['topK', () => body({ topK: 3 }), /topK/],
    ['safety settings', () => body({ safetySettings: [] }), /safetySettings/],
    ['a budget of thoughts', () => body({ thinkingConfig: { thinkingBudget: 0 } }), /thinkingBudget 0/],
    ['several candidates', () => body({ candidateCount: 2 }), /candidateCount 2/],
    ['pictures as answers', () => body({ responseModalities: ['IMAGE'] }), /responseModalities/],
    ['a mode of calls', () => choose('VALIDATED' as FunctionCallingConfigMode), /mode VALIDATED/],
    [
      'a picture in the instruction',
      () => body({ systemInstruction: file('image/png') }),
      /systemInstruction/,
    ],
    ['a search', () => body({ tools: [{ googleSearch: {} }] }), /googleSearch/],
  ])('refuses by name what the interface does not take: %s', (_what, make, name) => {
    expect(make).toThrow(
      expect.objectContaining({ code: 'invalid_argument', message: expect.stringMatching(name) }),
    );
  });

  it('has the settings that the interface takes', () => {
    expect(
      body({ thinkingConfig: { thinkingLevel: ThinkingLevel.LOW, includeThoughts: true } }),
    ).toMatchObject({
      reasoning_effort: 'low',
    });
    expect(
      body({ responseJsonSchema: { type: 'object' }, responseMimeType: 'application/json' }),
    ).toMatchObject({
      response_format: { json_schema: { schema: { type: 'object' } } },
    });
    expect(choose(FunctionCallingConfigMode.ANY)).toMatchObject({ tool_choice: 'required' });
    expect(choose(FunctionCallingConfigMode.NONE)).toMatchObject({ tool_choice: 'none' });
    expect(choose(FunctionCallingConfigMode.ANY, ['b']).tools).toMatchObject([{ function: { name: 'b' } }]);
  });

  it.each<[string, GenerateContentConfig['systemInstruction']]>([
    ['a content', { role: 'user', parts: [{ text: 'Be brief.' }] }],
    ['a part', { text: 'Be brief.' }],
    ['a list', ['Be brief.']],
  ])('has an instruction that is %s', (_what, systemInstruction) => {
    expect(body({ ...(systemInstruction && { systemInstruction }) }).messages[0]).toEqual({
      role: 'system',
      content: 'Be brief.',
    });
  });

  it('keeps null in nullable unions and enums', () => {
    const properties = {
      one: { nullable: true, anyOf: [{ type: Type.STRING }, { type: Type.NUMBER }] },
      two: { nullable: true, type: Type.STRING, enum: ['a'] },
    };
    const declaration = { name: 'f', parameters: { type: Type.OBJECT, properties } };
    expect(body({ tools: [{ functionDeclarations: [declaration] }] }).tools).toMatchObject([
      {
        function: {
          parameters: {
            properties: {
              one: { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'null' }] },
              two: { type: ['string', 'null'], enum: ['a', null] },
            },
          },
        },
      },
    ]);
  });
});
