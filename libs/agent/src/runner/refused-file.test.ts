import { expect, it } from 'vitest';
import { LlmAgent } from '../flow/llm-agent.ts';
import { brief, chat, scriptedModel } from '../harness.fixture.ts';

const picture = { inlineData: { mimeType: 'image/png', data: 'bm8gcGljdHVyZQ==', displayName: 'cat.png' } };

it.each([400, 413, 415, 422])(
  'leaves a file that the model refused (%i) out of later prompts',
  async (status) => {
    const { llm, requests } = await scriptedModel(
      { error: { status, message: 'Unable to process input image' } },
      { text: 'hello' },
      { text: 'again' },
    );
    const { runner, say, stored } = await chat(new LlmAgent({ name: 'root', model: llm }));
    const ref = { userId: 'u', sessionId: (await stored()).id };
    const send = (parts: object[]) => Array.fromAsync(runner.runAsync({ ...ref, newMessage: { parts } }));
    expect(await send([{ text: 'look' }, picture])).toMatchObject([{ errorCode: String(status) }]);
    expect((await say('and now?')).map(brief)).toEqual(['root: hello']);
    const shown = JSON.stringify(requests.at(-1)?.contents);
    expect(shown).toContain(
      '[a file \\"cat.png\\" of type image/png and 10 bytes, which the model did not accept]',
    );
    expect(shown).not.toContain('inlineData');
    // A file of another message is shown.
    await send([picture]);
    expect(JSON.stringify(requests.at(-1)?.contents)).toContain('inlineData');
  },
);

it('shows a file again after a failure that was none of the file', async () => {
  const { llm, requests } = await scriptedModel(
    { error: { status: 404, message: 'no such model' } },
    { text: 'hello' },
  );
  const { runner, say, stored } = await chat(new LlmAgent({ name: 'root', model: llm }));
  const ref = { userId: 'u', sessionId: (await stored()).id };
  await Array.fromAsync(runner.runAsync({ ...ref, newMessage: { parts: [picture] } }));
  await say('and now?');
  expect(JSON.stringify(requests.at(-1)?.contents)).toContain('inlineData');
});
