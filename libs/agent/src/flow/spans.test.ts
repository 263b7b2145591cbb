import { recordTraceContent } from '@agentmesh/protocol';
import { trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chat, scriptedModel } from '../harness.fixture.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import { LlmAgent } from './llm-agent.ts';

const exporter = new InMemorySpanExporter();
beforeEach(() => {
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
});
afterEach(() => {
  trace.disable();
  exporter.reset();
  recordTraceContent(false);
});

const generateContentConfig = { temperature: 0.5, maxOutputTokens: 100 };

/** Lets an agent with a tool take a turn. Returns the recorded spans by name. */
async function turn(run: () => unknown, ...replies: Parameters<typeof scriptedModel>) {
  const { llm } = await scriptedModel(...replies);
  const tool = new FunctionTool({ name: 'work', description: 'works', execute: run });
  const { say } = await chat(
    new LlmAgent({ name: 'root', model: llm, generateContentConfig, tools: [tool] }),
  );
  await say('a secret');
  const spans = exporter.getFinishedSpans();
  const named = (name: string) => spans.filter((span) => span.name === name);
  return { chats: named('chat gemini-test'), tools: named('execute_tool work') };
}

const callWork = { calls: [{ name: 'work', args: { n: 1 } }] };

describe('the spans of an agent in one process', () => {
  it('name the model, the tool and the ids, and not what is said', async () => {
    const { chats, tools } = await turn(() => ({ done: true }), callWork, { text: 'ok' });
    expect(chats).toHaveLength(2);
    expect(tools.map(({ attributes }) => attributes)).toEqual([
      {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'work',
        'gen_ai.tool.description': 'works',
        'gen_ai.tool.type': 'function',
        'gen_ai.tool.call.id': expect.stringMatching(/^adk-/),
        'gen_ai.agent.name': 'root',
        'gen_ai.agent.id': 'root',
        'gen_ai.conversation.id': chats[0]?.attributes['gen_ai.conversation.id'],
        'agentmesh.app': 'app',
        'agentmesh.invocation_id': chats[0]?.attributes['agentmesh.invocation_id'],
        'agentmesh.attempt': 1,
      },
    ]);
  });

  it('name the provider, the settings of the request, and the tokens of the answer', async () => {
    const { chats } = await turn(() => ({ done: true }), { text: 'ok' });
    expect(chats[0]?.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'gcp.gemini',
      'gen_ai.request.model': 'gemini-test',
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.max_tokens': 100,
      'gen_ai.response.model': expect.any(String),
      'gen_ai.response.finish_reasons': ['STOP'],
      'gen_ai.usage.input_tokens': expect.any(Number),
      'gen_ai.usage.output_tokens': expect.any(Number),
      'gen_ai.agent.name': 'root',
      'gen_ai.agent.id': 'root',
      'gen_ai.conversation.id': expect.any(String),
      'agentmesh.app': 'app',
      'agentmesh.invocation_id': expect.any(String),
      'agentmesh.attempt': 1,
    });
  });

  it('hold messages, arguments and results when contents are recorded', async () => {
    recordTraceContent(true);
    const { chats, tools } = await turn(() => ({ done: true }), callWork, { text: 'ok' });
    const [first, second] = chats.map(({ attributes }) => attributes);
    const message = { role: 'user', parts: [{ type: 'text', content: 'a secret' }] };
    expect(first?.['gen_ai.input.messages']).toBe(JSON.stringify([message]));
    const answer = { role: 'assistant', parts: [{ type: 'text', content: 'ok' }] };
    expect(second?.['gen_ai.output.messages']).toBe(JSON.stringify([answer]));
    expect(tools[0]?.attributes).toMatchObject({
      'gen_ai.tool.call.arguments': '{"n":1}',
      'gen_ai.tool.call.result': '{"done":true}',
    });
  });

  it('have the status of an error when the tool or the model fails', async () => {
    const fail = () => {
      throw new Error('boom');
    };
    const { chats, tools } = await turn(fail, callWork, {
      error: { status: 400, message: 'no such model' },
    });
    expect(tools[0]?.status).toEqual({ code: 2, message: 'tool work failed: boom' });
    expect(tools[0]?.attributes['error.type']).toBe('tool_error');
    expect(chats.map(({ status }) => status.code)).toEqual([0, 2]);
    expect(chats[1]?.status.message).toContain('no such model');
    expect(chats[1]?.attributes['error.type']).toEqual(expect.any(String));
  });
});
