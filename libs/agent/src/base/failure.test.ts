import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../flow/llm-agent.ts';
import { scriptedModel } from '../harness.fixture.ts';
import { Runner, type RunnerConfig } from '../runner/runner.ts';
import { InMemorySessionService } from '../sessions/in-memory/session-service.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import type { Failure } from './failure.ts';

const convert = new FunctionTool({
  name: 'convert',
  description: 'converts',
  parameters: z.object({ amount: z.number() }),
  execute: () => {
    throw new TypeError('no rate');
  },
});

async function run(args: Record<string, unknown>, config: Partial<RunnerConfig> = {}) {
  const { llm } = await scriptedModel({ calls: [{ name: 'convert', args }] }, { text: 'sorry' });
  const agent = new LlmAgent({ name: 'root', model: llm, tools: [convert] });
  const runner = new Runner({
    appName: 'app',
    agent,
    sessionService: new InMemorySessionService(),
    ...config,
  });
  const newMessage = { role: 'user', parts: [{ text: 'go' }] };
  return await Array.fromAsync(runner.runEphemeral({ userId: 'u', newMessage }));
}

describe('an exception of a tool', () => {
  it('is given to onFailure with its stack and the ids of the call', async () => {
    const failures: Failure[] = [];
    const events = await run({ amount: 1 }, { onFailure: (failure) => void failures.push(failure) });
    expect(failures).toEqual([
      {
        what: 'tool',
        name: 'convert',
        agent: 'root',
        invocationId: events[0]?.invocationId,
        sessionId: expect.any(String),
        callId: events[0]?.content?.parts?.[0]?.functionCall?.id,
        error: expect.objectContaining({
          message: 'no rate',
          stack: expect.stringContaining('failure.test.ts'),
        }),
      },
    ]);
  });

  it('is printed on stderr without onFailure', async () => {
    const print = vi.spyOn(console, 'error').mockImplementation(() => {});
    try {
      await run({ amount: 1 });
      expect(print).toHaveBeenCalledExactlyOnceWith(
        expect.stringMatching(/^tool convert failed \(agent root, invocation e-.*, call adk-.*\):$/),
        expect.any(TypeError),
      );
    } finally {
      print.mockRestore();
    }
  });

  it("is not reported when the model's arguments do not fit", async () => {
    const failures: Failure[] = [];
    await run({ amount: 'much' }, { onFailure: (failure) => void failures.push(failure) });
    expect(failures).toEqual([]);
  });
});
