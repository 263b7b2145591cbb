import {
  AgentTool,
  BaseLlm,
  FunctionTool,
  Gemini,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
} from '@agentmesh/agent';
import { OpenAiLlm } from '@agentmesh/agent/openai';
import { remoteAgent } from '@agentmesh/mesh';
import { z } from 'zod';

const retryOptions = { attempts: 2, initialDelay: 0 };
/** The address of a model's server. */
const serverOf = (kind: string) => process.env[`RUDE_${kind}`] ?? 'http://127.0.0.1:1';

/** Refuses half a call: each whole one has `end`. */
const note = new FunctionTool({
  name: 'note',
  description: 'Notes a value.',
  parameters: z.looseObject({}),
  execute: ({ end }) => (end === true ? 'noted' : 'HALF A CALL'),
});

export const gem = new LlmAgent({
  name: 'gem',
  model: new Gemini({ model: 'm', apiKey: 'k', baseUrl: serverOf('GEM'), retryOptions }),
  tools: [note],
});

export const chat = new LlmAgent({
  name: 'chat',
  model: new OpenAiLlm({ model: 'm', apiKey: 'k', baseUrl: `${serverOf('CHAT')}/v1`, retryOptions }),
  tools: [note],
});

/** Calls the agent that the user names, and tells what it hears. */
class Errands extends BaseLlm {
  constructor() {
    super({ model: 'errands' });
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    const parts = contents.at(-1)?.parts ?? [];
    const heard = parts.find(({ functionResponse }) => functionResponse)?.functionResponse;
    const name = parts[0]?.text ?? '';
    const part = heard
      ? { text: JSON.stringify(heard.response) }
      : { functionCall: { name, args: { request: 'go' } } };
    yield { content: { role: 'model', parts: [part] } };
  }
}

export const boss = new LlmAgent({
  name: 'boss',
  model: new Errands(),
  tools: ['gem', 'chat'].map((name) => new AgentTool({ agent: remoteAgent(name) })),
});
