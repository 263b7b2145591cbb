import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../flow/llm-agent.ts';
import { OwnLlm, says } from '../harness.fixture.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import { InMemoryRunner } from './runner.ts';

/** Options as programs in JavaScript write them: no compiler checks their types. */
type Wrong = Record<string, unknown>;
const agent = (options: Wrong) => new LlmAgent({ name: 'a', model: 'gemini-test', ...options } as never);
const tool = (options: Wrong) =>
  new FunctionTool({ name: 't', description: 'does t', execute: () => 1, ...options } as never);

describe('an option of a wrong kind', () => {
  it.each<[string, () => unknown]>([
    ['tools must be a list, not a value of FunctionTool', () => agent({ tools: tool({}) })],
    ['tools[0] must be a tool or a toolset', () => agent({ tools: ['t'] })],
    ['tools[1] must be a tool or a toolset', () => agent({ tools: [tool({}), agent({})] })],
    ['tools[0] must be a tool or a toolset', () => agent({ tools: [undefined] })],
    ['subAgents[0] must be an agent, not "b"', () => agent({ subAgents: ['b'] })],
    ['instruction must be a text or a function, not 5', () => agent({ instruction: 5 })],
    ['beforeModelCallback must be a function, not "x"', () => agent({ beforeModelCallback: 'x' })],
    ['afterToolCallback[1] must be a function', () => agent({ afterToolCallback: [() => {}, 1] })],
    ['model must be the name of a model, or a BaseLlm', () => agent({ model: {} })],
    ['outputKey must be a text', () => agent({ outputKey: 5 })],
    ['includeContents must be "default" or "none", not "some"', () => agent({ includeContents: 'some' })],
    ['put it into z.object(…)', () => tool({ parameters: { city: z.string() } })],
    ['parameters must describe an object, not ARRAY', () => tool({ parameters: z.array(z.string()) })],
    ['timeoutMs must be a time in ms above 0, not "5s"', () => tool({ timeoutMs: '5s' })],
    ['requireConfirmation must be true, false or a function', () => tool({ requireConfirmation: 'yes' })],
    ['a runner needs an app, or appName and agent', () => new InMemoryRunner()],
  ])('is named: %s', (message, make) => {
    expect(make).toThrow(message);
  });

  it.each([
    ['a run needs a userId and a sessionId', {}],
    ['userId must be a text, not 5', { userId: 5, sessionId: 's' }],
  ])('is named in a run: %s', async (message, ids) => {
    const model = new OwnLlm(() => [says('never')]);
    const runner = new InMemoryRunner({ agent: new LlmAgent({ name: 'a', model }), appName: 'app' });
    const run = runner.runAsync({ newMessage: { role: 'user', parts: [{ text: 'hi' }] }, ...ids } as never);
    await expect(Array.fromAsync(run)).rejects.toThrow(message);
  });
});
