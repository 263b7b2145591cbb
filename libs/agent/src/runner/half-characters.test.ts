import { expect, it } from 'vitest';
import type { Context } from '../base/context.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { chat, scriptedModel } from '../harness.fixture.ts';
import { FunctionTool } from '../tools/function-tool.ts';

const half = 'cut \ud83d';

it('keeps half of a character of a message, a result and the state out of the log and the prompts', async () => {
  const { llm, requests } = await scriptedModel({ calls: [{ name: 'cut', args: {} }] }, { text: 'done' });
  const cut = new FunctionTool({
    name: 'cut',
    description: 'cuts a text',
    execute: (_args, context?: Context) => {
      context?.state.set('shown', half);
      return { text: half, [half]: [half] };
    },
  });
  const { say, stored } = await chat(new LlmAgent({ name: 'root', model: llm, tools: [cut] }));
  await say(half);
  const { events, state } = await stored();
  expect(state).toEqual({ shown: 'cut \uFFFD' });
  // JSON escapes half of a character, and nothing else of these texts.
  expect(JSON.stringify([events, requests])).not.toContain('\\ud');
  expect(JSON.stringify(requests.at(-1)?.contents)).toContain('"cut \uFFFD":["cut \uFFFD"]');
});
