import {
  AgentTool,
  BaseAgent,
  type Event,
  Gemini,
  type InvocationContext,
  LlmAgent,
  RoutedLlm,
  SequentialAgent,
} from '@agentmesh/agent';
import { OpenAiLlm } from '@agentmesh/agent/openai';
import { createLogger } from '@agentmesh/service';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { assertModels } from './agent-config.ts';

const lines: string[] = [];
const log = createLogger({
  service: 's',
  replica: 'r',
  destination: { write: (line) => void lines.push(line) },
});
const check = (agent: BaseAgent, model?: 'scripted') => assertModels(agent, { model }, log);
const gemini = (name: string) => new LlmAgent({ name, model: 'gemini-2.5-flash' });

const variables = ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'OPENAI_API_KEY', 'GOOGLE_GEMINI_BASE_URL'];
beforeEach(() => {
  lines.length = 0;
  for (const name of variables) vi.stubEnv(name, '');
});
afterEach(() => {
  vi.unstubAllEnvs();
});

class Clock extends BaseAgent {
  protected override async *runAsyncImpl(_context: InvocationContext): AsyncGenerator<Event, void, void> {}
}

describe('the models of an agent at its start', () => {
  it('need a key, wherever in the tree they are', () => {
    const nested = new LlmAgent({
      name: 'outer',
      model: new Gemini({ apiKey: 'key' }),
      tools: [new AgentTool({ agent: new SequentialAgent({ name: 'steps', subAgents: [gemini('inner')] }) })],
    });
    for (const agent of [gemini('a'), nested])
      expect(() => check(agent)).toThrow(
        /^no key for model gemini-2.5-flash: set GEMINI_API_KEY or GOOGLE_API_KEY\. .*MESH_MODEL=scripted/,
      );
  });

  it.each(['GEMINI_API_KEY', 'GOOGLE_API_KEY'])('have a key in %s', (name) => {
    vi.stubEnv(name, 'key');
    check(gemini('a'));
  });

  it('may have a key of their own, or be on Vertex AI', () => {
    check(new LlmAgent({ name: 'a', model: new Gemini({ apiKey: 'key' }) }));
    check(new LlmAgent({ name: 'b', model: new Gemini({ vertexai: true, project: 'p', location: 'l' }) }));
    check(new LlmAgent({ name: 'c', model: new OpenAiLlm({ model: 'm', apiKey: 'key' }) }));
    check(new Clock({ name: 'd' }));
  });

  it('are all named when several have none', () => {
    const model = new RoutedLlm({ models: [new Gemini(), new OpenAiLlm({ model: 'gpt-x' })] });
    expect(() => check(new LlmAgent({ name: 'a', model }))).toThrow(
      /model gemini-2.5-flash: set GEMINI_API_KEY or GOOGLE_API_KEY; no key for model gpt-x: set OPENAI_API_KEY\./,
    );
  });

  it('are scripts only with a server for scripts, and the log says so', () => {
    vi.stubEnv('GEMINI_API_KEY', 'key');
    expect(() => check(gemini('a'), 'scripted')).toThrow(/MESH_MODEL=scripted needs.*GOOGLE_GEMINI_BASE_URL/);
    vi.stubEnv('GOOGLE_GEMINI_BASE_URL', 'http://127.0.0.1:1');
    check(gemini('a'), 'scripted');
    expect(lines.join()).toContain('"model":"scripted","msg":"answers come from a script, not from a model"');
  });
});
