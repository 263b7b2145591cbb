import { expect, it } from 'vitest';
import { LlmAgent } from '../flow/llm-agent.ts';
import { brief, chat, scriptedModel } from '../harness.fixture.ts';
import { FunctionTool } from '../tools/function-tool.ts';

const plain = { plainTextToolConfirmation: true };
const gated = (name: string) =>
  new FunctionTool({ name, description: name, requireConfirmation: true, execute: () => ({ done: name }) });

async function office(...replies: Parameters<typeof scriptedModel>) {
  const { llm, requests } = await scriptedModel(...replies);
  const agent = new LlmAgent({ name: 'root', model: llm, tools: [gated('pay'), gated('book')] });
  return { ...(await chat(agent)), requests };
}

const pay = { calls: [{ name: 'pay', args: {} }] };

it('reads a plain yes as the answer to the question before it', async () => {
  const { say, stored } = await office(pay, { text: 'paid' });
  await say('go', plain);
  expect((await say(' Yes ', plain)).map(brief)).toEqual(['root: gets {"done":"pay"}', 'root: paid']);
  const answer = (await stored()).events.findLast(({ author }) => author === 'user');
  expect(answer?.content?.parts?.[0]?.functionResponse?.response).toEqual({ confirmed: true });
});

it('reads a plain no as a rejection, and other text as a message', async () => {
  const { say } = await office(pay, { text: 'why not?' }, pay, { text: 'as you like' });
  await say('go', plain);
  expect((await say('not now', plain)).map(brief)).toEqual(['root: why not?']);
  await say('go on', plain);
  const events = (await say('no', plain)).map(brief);
  expect(events[0]).toMatch(/^root: gets \{"error":/);
  expect(events[1]).toBe('root: as you like');
});

it('answers two questions of a turn one after the other', async () => {
  const both = {
    calls: [
      { name: 'pay', args: {} },
      { name: 'book', args: {} },
    ],
  };
  const { say } = await office(both, { text: 'both' });
  await say('go', plain);
  expect((await say('yes', plain)).map(brief)).toEqual(['root: gets {"done":"pay"}']);
  expect((await say('ok', plain)).map(brief)).toEqual(['root: gets {"done":"book"}', 'root: both']);
});

it('does not read a yes as an answer without a question, after another message, or without the option', async () => {
  const { say, requests } = await office({ text: 'yes?' }, pay, { text: 'a' }, { text: 'b' }, pay, {
    text: 'c',
  });
  expect((await say('yes', plain)).map(brief)).toEqual(['root: yes?']);
  await say('go', plain);
  await say('what time is it?', plain);
  expect((await say('yes', plain)).map(brief)).toEqual(['root: b']);
  await say('go', plain);
  expect((await say('yes')).map(brief)).toEqual(['root: c']);
  expect(requests).toHaveLength(6);
});
