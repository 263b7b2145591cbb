import { Type } from '@google/genai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ArtifactService } from '../artifacts/artifact-service.ts';
import { stringifyContent } from '../events/event.ts';
import { brief, chat, scriptedModel } from '../harness.fixture.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import { LlmAgent, type LlmAgentConfig } from './llm-agent.ts';

async function agentOf(config: Partial<LlmAgentConfig>, ...replies: Parameters<typeof scriptedModel>) {
  const { llm, requests } = await scriptedModel(...replies);
  return { agent: new LlmAgent({ name: 'root', model: llm, ...config }), requests };
}

const outputSchema = z.object({ city: z.string(), degrees: z.number() });

describe('an output key', () => {
  it('receives the answer without its thoughts', async () => {
    const { agent } = await agentOf(
      { outputKey: 'answer' },
      { parts: [{ text: 'hmm', thought: true }, { text: '42' }] },
    );
    const { say, stored } = await chat(agent);
    await say('go');
    expect((await stored()).state).toEqual({ answer: '42' });
  });
});

describe('an output schema', () => {
  it.each([
    '```json\n{"city":"Oslo","degrees":3}\n```',
    '```json {"city":"Oslo","degrees":3}```',
    '{"city":"Oslo","degrees":3}',
  ])('is sent to the model; the answer is stored as its value: %j', async (text) => {
    const { agent, requests } = await agentOf({ outputSchema, outputKey: 'weather' }, { text });
    const { say, stored } = await chat(agent);
    await say('go');
    expect(requests[0]?.generationConfig).toMatchObject({
      responseMimeType: 'application/json',
      responseSchema: { type: 'OBJECT', required: ['city', 'degrees'] },
    });
    expect((await stored()).state).toEqual({ weather: { city: 'Oslo', degrees: 3 } });
    expect([agent.disallowTransferToParent, agent.disallowTransferToPeers]).toEqual([true, true]);
  });

  it.each([
    ['is not JSON', 'warm', /not JSON/],
    ['does not fit', '{"city":"Oslo"}', /missing parameter "degrees"/],
  ])('makes an answer that %s an error, and nothing is stored', async (_how, text, words) => {
    const { agent } = await agentOf({ outputSchema, outputKey: 'weather' }, { text });
    const { say, stored } = await chat(agent);
    const [event] = await say('go');
    expect(event).toMatchObject({ errorCode: 'INVALID_OUTPUT', errorMessage: expect.stringMatching(words) });
    expect((await stored()).state).toEqual({});
  });

  it('beside tools is filled by a call, which the model can correct', async () => {
    const look = new FunctionTool({ name: 'look', description: 'looks', execute: () => 3 });
    const { agent, requests } = await agentOf(
      { outputSchema, outputKey: 'weather', tools: [look] },
      { calls: [{ name: 'look', args: {} }] },
      { calls: [{ name: 'set_model_response', args: { city: 'Oslo' } }] },
      { calls: [{ name: 'set_model_response', args: { city: 'Oslo', degrees: 3 } }] },
    );
    const { say, stored } = await chat(agent);
    const events = await say('go');
    expect(requests[0]?.tools.map(({ name }) => name)).toEqual(['look', 'set_model_response']);
    expect(requests[0]?.generationConfig.responseSchema).toBeUndefined();
    expect(events.map(brief)[3]).toMatch(/missing parameter \\"degrees\\"/);
    expect(events.at(-1) && stringifyContent(events.at(-1) as never)).toBe('{"city":"Oslo","degrees":3}');
    expect(events.at(-1)?.actions.skipSummarization).toBe(true);
    expect((await stored()).state).toEqual({ weather: { city: 'Oslo', degrees: 3 } });
  });

  it('may be one of @google/genai', async () => {
    const { agent } = await agentOf(
      { outputSchema: { type: Type.OBJECT, properties: {}, required: ['a'] } },
      { text: '{}' },
    );
    expect((await (await chat(agent)).say('go')).map(brief)).toEqual(['root: fails INVALID_OUTPUT']);
  });
});

describe('instructions', () => {
  it('of the root reach all agents, with files and state filled in', async () => {
    const artifactService = {
      loadArtifact: async ({ filename }: { filename: string }) =>
        filename === 'rules.txt' ? { text: 'be kind' } : undefined,
    } as unknown as ArtifactService;
    const helper = await agentOf(
      { name: 'helper', instruction: 'Rules: {artifact.rules.txt}; {artifact.more.txt?}; {a.b}' },
      { text: 'ok' },
    );
    const root = await agentOf(
      {
        globalInstruction: 'Speak {lang}.',
        instruction: (context) => `{raw} ${context.state.get('lang')}`,
        subAgents: [helper.agent],
      },
      { calls: [{ name: 'transfer_to_agent', args: { agentName: 'helper' } }] },
    );
    await (await chat(root.agent, { lang: 'Latin' }, { artifactService })).say('go');
    expect(root.requests[0]?.systemInstruction).toMatch(/Speak Latin\.\n\n\{raw\} Latin/);
    expect(helper.requests[0]?.systemInstruction).toContain('Speak Latin.\n\nRules: be kind; ; {a.b}');
  });
});

describe('the contents of a request', () => {
  it('show only the current turn with includeContents none', async () => {
    const { agent, requests } = await agentOf(
      { includeContents: 'none', generateContentConfig: { temperature: 0 } },
      { text: 'a' },
      { text: 'b' },
    );
    const { say } = await chat(agent);
    await say('one');
    await say('two');
    expect(requests[1]?.contents).toEqual([{ role: 'user', parts: [{ text: 'two' }] }]);
    expect(requests[1]?.generationConfig.temperature).toBe(0);
  });
});
