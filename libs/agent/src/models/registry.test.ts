import { describe, expect, it } from 'vitest';
import { BaseLlm, type LlmRequest, type LlmResponse } from '../base/base-llm.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { chat } from '../harness.fixture.ts';
import { Gemini } from './gemini.ts';
import { OpenAiLlm } from './openai.ts';
import { type BaseLlmType, LLMRegistry } from './registry.ts';
import { RoutedLlm } from './routed-llm.ts';

const seen: unknown[][] = [];

class ParrotLlm extends BaseLlm {
  static override readonly supportedModels = ['parrot-[0-9]+', /grey-.+/g];

  override async *generateContentAsync(
    request: LlmRequest,
    stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    seen.push([stream, abortSignal]);
    const text = `${this.model}: ${request.contents.at(-1)?.parts?.[0]?.text}`;
    yield { content: { role: 'model', parts: [{ text: stream ? `${text} (streamed)` : text }] } };
  }
}

describe('a class of models that is registered', () => {
  it('is found by whole names and patterns, and leaves other names alone', () => {
    LLMRegistry.register(ParrotLlm);
    for (const name of ['parrot-7', 'grey-one', 'grey-one']) {
      expect(LLMRegistry.resolve(name)).toBe(ParrotLlm);
      expect(LLMRegistry.newLlm(name)).toMatchObject({ model: name });
    }
    expect(LLMRegistry.resolve('gemini-2.5-flash')).toBe(Gemini);
    expect(LLMRegistry.newLlm('models/gemma-3')).toBeInstanceOf(Gemini);
    expect(() => LLMRegistry.resolve('my-parrot-7')).toThrow('no model class for "my-parrot-7"');
  });

  it('is called with a boolean and a signal', async () => {
    LLMRegistry.register(ParrotLlm);
    const { say, runner, stored } = await chat(new LlmAgent({ name: 'root', model: 'parrot-1' }));
    const abortSignal = new AbortController().signal;
    const ref = { userId: 'u', sessionId: (await stored()).id };
    const newMessage = { role: 'user', parts: [{ text: 'hi' }] };
    const [whole] = await Array.fromAsync(runner.runAsync({ ...ref, newMessage, abortSignal }));
    const [streamed] = await say('hi', { streamingMode: 'sse' });
    expect(whole?.content?.parts).toEqual([{ text: 'parrot-1: hi' }]);
    expect(streamed?.content?.parts).toEqual([{ text: 'parrot-1: hi (streamed)' }]);
    expect(seen).toEqual([
      [false, abortSignal],
      [true, undefined],
    ]);
  });

  it('may be a function, which has no class', () => {
    LLMRegistry.register(/^owl-/, (model) => new ParrotLlm({ model }));
    expect(LLMRegistry.newLlm('owl-1')).toMatchObject({ model: 'owl-1' });
    expect(() => LLMRegistry.resolve('owl-1')).toThrow(
      expect.objectContaining({ code: 'failed_precondition' }),
    );
  });

  it('is refused by name when it is not one', () => {
    class Nameless extends ParrotLlm {
      static override readonly supportedModels = [];
    }
    const register = (value: unknown, make?: unknown) => () =>
      Reflect.apply(LLMRegistry.register, LLMRegistry, [value, make]);
    expect(register(Nameless)).toThrow('Nameless names no model');
    expect(register(class Other {})).toThrow('a subclass of BaseLlm');
    expect(register('parrot')).toThrow('a subclass of BaseLlm');
    expect(register(/x/)).toThrow('needs a function');
    class Odd extends ParrotLlm {}
    Object.assign(Odd, { supportedModels: [7] });
    expect(register(Odd as BaseLlmType)).toThrow(
      'supportedModels of Odd must hold texts or patterns, not number',
    );
    expect(LLMRegistry.newLlm('gemini-2.5-flash')).toBeInstanceOf(Gemini);
  });

  it.each([
    [JSON.stringify({ error: { code: 429, message: 'quota' } }), { errorCode: '429', errorMessage: 'quota' }],
    [JSON.stringify({ error: { message: 'odd' } }), { errorCode: 'UNKNOWN_ERROR', errorMessage: 'odd' }],
    ['{"error":"plain"}', { errorCode: 'UNKNOWN_ERROR', errorMessage: 'plain' }],
    ['null', { errorCode: 'UNKNOWN_ERROR', errorMessage: 'null' }],
    ['away', { errorCode: 'UNKNOWN_ERROR', errorMessage: 'away' }],
  ])(
    'tells the code and the words of an error that holds the answer of a server: %s',
    async (message, told) => {
      class BrokenLlm extends ParrotLlm {
        override async *generateContentAsync(): AsyncGenerator<LlmResponse, void> {
          yield await Promise.reject(new Error(message));
        }
      }
      const { say } = await chat(new LlmAgent({ name: 'root', model: new BrokenLlm({ model: 'b' }) }));
      expect((await say('hi'))[0]).toMatchObject(told);
    },
  );

  it('refuses options in place of a boolean', async () => {
    const gemini = new Gemini({ apiKey: 'key' });
    for (const llm of [
      gemini,
      new OpenAiLlm({ model: 'm', apiKey: 'key' }),
      new RoutedLlm({ models: [gemini] }),
    ]) {
      const asked: unknown = Reflect.apply(llm.generateContentAsync, llm, [{}, { stream: true }]);
      await expect((asked as AsyncGenerator).next()).rejects.toThrow('stream must be true or false');
    }
  });

  it('has no live conversations', async () => {
    const llm = new ParrotLlm({ model: 'parrot-1' });
    const request = { model: 'parrot-1', contents: [], config: {}, toolsDict: {} };
    await expect(llm.connect(request)).rejects.toMatchObject({ code: 'failed_precondition' });
  });
});
