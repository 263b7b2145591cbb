import { Gemini, LLMRegistry, LlmAgent, RoutedLlm } from '@agentmesh/agent';
import { OpenAiLlm } from '@agentmesh/agent/openai';
import { chat, runnerOf } from './chat.ts';

async function ask(agent: LlmAgent): Promise<void> {
  const [event] = await (await chat(runnerOf(agent))).say('Hello!');
  console.log(`  by ${event?.modelVersion}, ${event?.finishReason}`);
}

// A name is looked up in the registry, which knows all Gemini models. Thoughts are separate parts, which
// outputKey leaves out.
await ask(
  new LlmAgent({
    name: 'thinker',
    model: 'gemini-2.5-flash',
    generateContentConfig: { maxOutputTokens: 1000, thinkingConfig: { includeThoughts: true } },
    outputKey: 'answer',
  }),
);

// An object has more settings than a name: another key, another server, Vertex AI.
await ask(new LlmAgent({ name: 'precise', model: new Gemini({ model: 'gemini-2.5-pro' }) }));

// Any server that speaks OpenAI's interface: OpenAI's own, Ollama, vLLM, LiteLLM. OPENAI_API_KEY and
// OPENAI_BASE_URL are read.
LLMRegistry.register(/^(gpt|llama)-/, (model) => new OpenAiLlm({ model }));
await ask(new LlmAgent({ name: 'other', model: 'gpt-5-mini' }));

// A model that fails before its first text is replaced by the next one.
const models = {
  best: new Gemini({ model: 'gemini-of-tomorrow' }),
  spare: new Gemini({ model: 'gemini-2.5-flash' }),
};
await ask(new LlmAgent({ name: 'sure', model: new RoutedLlm({ models }) }));
