import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AgentTool } from '../agent-tool/agent-tool.ts';
import type { BaseAgent } from '../base/base-agent.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { chat, scriptedModel } from '../harness.fixture.ts';
import { GeminiEmbedder } from '../models/gemini-embedder.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import { ParallelAgent } from '../workflow/parallel-agent.ts';
import { SequentialAgent } from '../workflow/sequential-agent.ts';

const exporter = new InMemorySpanExporter();
beforeEach(() => {
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
afterEach(() => {
  trace.disable();
  context.disable();
  exporter.reset();
});

/** Draws the recorded spans, each below its parent, in the order of their begin. */
function drawn(parent?: string, indent = ''): string[] {
  const spans = exporter
    .getFinishedSpans()
    .toSorted((a, b) => a.startTime[0] - b.startTime[0] || a.startTime[1] - b.startTime[1]);
  return spans
    .filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent)
    .flatMap((span) => [`${indent}${span.name}`, ...drawn(span.spanContext().spanId, `${indent}  `)]);
}

/** Lets an agent take a turn, and returns the tree of its spans. */
async function treeOf(agent: BaseAgent): Promise<string[]> {
  const { say } = await chat(agent);
  await say('go');
  return drawn();
}

describe('the trace of a turn in one process', () => {
  it('is one trace, with the agents of a workflow below it', async () => {
    const { llm } = await scriptedModel(() => ({ text: 'ok' }));
    const agent = (name: string) => new LlmAgent({ name, model: llm });
    const both = new ParallelAgent({ name: 'both', subAgents: [agent('left'), agent('right')] });
    const root = new SequentialAgent({ name: 'root', subAgents: [agent('first'), both] });
    expect(await treeOf(root)).toEqual([
      'invoke_agent root',
      '  invoke_agent first',
      '    chat gemini-test',
      '  invoke_agent both',
      '    invoke_agent left',
      '      chat gemini-test',
      '    invoke_agent right',
      '      chat gemini-test',
    ]);
    const [span] = exporter.getFinishedSpans().filter(({ name }) => name === 'invoke_agent left');
    expect(span?.attributes).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'left',
      'gen_ai.agent.id': 'left',
      'gen_ai.conversation.id': expect.any(String),
      'agentmesh.app': 'app',
      'agentmesh.invocation_id': expect.any(String),
      'agentmesh.attempt': 1,
    });
  });

  it('shows the agent of a transfer, and an agent that is a tool', async () => {
    const { llm } = await scriptedModel({
      calls: [{ name: 'transfer_to_agent', args: { agentName: 'clerk' } }],
    });
    const { llm: ofClerk } = await scriptedModel(
      { calls: [{ name: 'expert', args: { request: 'help' } }] },
      { text: 'helped' },
      { text: 'done' },
    );
    const expert = new LlmAgent({ name: 'expert', model: ofClerk });
    const clerk = new LlmAgent({ name: 'clerk', model: ofClerk, tools: [new AgentTool({ agent: expert })] });
    expect(await treeOf(new LlmAgent({ name: 'root', model: llm, subAgents: [clerk] }))).toEqual([
      'invoke_agent root',
      '  chat gemini-test',
      '  execute_tool transfer_to_agent',
      '  invoke_agent clerk',
      '    chat gemini-test',
      '    execute_tool expert',
      '      invoke_agent expert',
      '        chat gemini-test',
      '    chat gemini-test',
    ]);
  });

  it('has the spans of embeddings, and of the code of a tool, below the call of the tool', async () => {
    const { llm, requests: _ } = await scriptedModel({ calls: [{ name: 'find', args: {} }] }, { text: 'ok' });
    const embedder = new GeminiEmbedder({
      apiKey: 'key',
      baseUrl: 'http://127.0.0.1:1',
      model: 'e',
      retryOptions: { attempts: 1 },
    });
    const find = new FunctionTool({
      name: 'find',
      description: 'finds',
      async execute() {
        trace.getTracer('own').startSpan('own work').end();
        await embedder.embed(['a text'], 'query').catch(() => {});
        return {};
      },
    });
    expect(await treeOf(new LlmAgent({ name: 'root', model: llm, tools: [find] }))).toEqual([
      'invoke_agent root',
      '  chat gemini-test',
      '  execute_tool find',
      '    own work',
      '    embeddings e',
      '  chat gemini-test',
    ]);
    const [span] = exporter.getFinishedSpans().filter(({ name }) => name === 'embeddings e');
    expect(span).toMatchObject({
      status: { code: 2 },
      attributes: {
        'gen_ai.operation.name': 'embeddings',
        'gen_ai.provider.name': 'gcp.gemini',
        'gen_ai.request.model': 'e',
        'gen_ai.embeddings.dimension.count': 256,
        'error.type': 'unavailable',
      },
    });
  });

  it('shows the failure of an agent on its span', async () => {
    class Broken extends LlmAgent {
      protected override runAsyncImpl(): never {
        throw new Error('boom');
      }
    }
    const child = new Broken({ name: 'child', model: 'none' });
    const root = new SequentialAgent({ name: 'root', subAgents: [child] });
    await expect(treeOf(root)).rejects.toThrow('boom');
    expect(exporter.getFinishedSpans().map(({ name, status }) => [name, status])).toEqual([
      ['invoke_agent child', { code: 2, message: 'boom' }],
      ['invoke_agent root', { code: 2, message: 'boom' }],
    ]);
  });
});
