import { runConfigSchema } from '@agentmesh/protocol';
import { Language, Outcome, type Part } from '@google/genai';
import { describe, expect, it, vi } from 'vitest';
import {
  BaseCodeExecutor,
  type CodeExecutionResult,
  type ExecuteCodeRequest,
} from '../base/base-code-executor.ts';
import { LlmAgent, type LlmAgentConfig } from '../flow/llm-agent.ts';
import { chat, runWithCrashes, scriptedModel } from '../harness.fixture.ts';
import { runInvocation } from '../invocation/invocation.ts';
import { InMemorySessionService } from '../sessions/in-memory/session-service.ts';
import { SequentialAgent } from '../workflow/sequential-agent.ts';
import { BuiltInCodeExecutor } from './built-in-code-executor.ts';

/** An executor that returns these results in order and records the code that it ran. */
class Scripted extends BaseCodeExecutor {
  readonly ran = vi.fn<(input: ExecuteCodeRequest['codeExecutionInput']) => void>();
  readonly #results: Partial<CodeExecutionResult>[];

  constructor(...results: Partial<CodeExecutionResult>[]) {
    super();
    this.#results = results;
  }

  override async executeCode({ codeExecutionInput }: ExecuteCodeRequest): Promise<CodeExecutionResult> {
    this.ran(codeExecutionInput);
    return { stdout: '', stderr: '', ...this.#results.shift() };
  }
}

async function coder(
  codeExecutor: BaseCodeExecutor,
  replies: Parameters<typeof scriptedModel>,
  config: Partial<LlmAgentConfig> = {},
) {
  const { llm, requests } = await scriptedModel(...replies);
  return { agent: new LlmAgent({ name: 'coder', model: llm, codeExecutor, ...config }), requests };
}

const fenced = (code: string, word = 'python') => `\`\`\`${word}\n${code}\n\`\`\``;
const code = (text: string, language: string = Language.PYTHON) => ({
  executableCode: { code: text, language },
});
const result = (output: string, outcome = Outcome.OUTCOME_OK) => ({
  codeExecutionResult: { outcome, output },
});
const partsOf = (events: readonly { content?: { parts?: Part[] } }[]) =>
  events.map(({ content }) => content?.parts);

describe('an agent with a code executor', () => {
  it('runs the code that its model writes, and asks the model again with the result (ADK defect B18)', async () => {
    const executor = new Scripted({ stdout: '42\n' });
    const text = `I compute it:\n${fenced('print(6 * 7)')}\nSo it is 41.`;
    const { agent, requests } = await coder(executor, [{ text }, { text: 'It is 42.' }], {
      outputKey: 'answer',
    });
    const { say, stored } = await chat(agent);
    const events = await say('6 * 7?');
    expect(partsOf(events)).toEqual([
      [{ text: 'I compute it:\n' }, code('print(6 * 7)')],
      [result('42\n')],
      [{ text: 'It is 42.' }],
    ]);
    expect(events.map(({ author, content }) => [author, content?.role])).toEqual([
      ['coder', 'model'],
      ['coder', 'model'],
      ['coder', 'model'],
    ]);
    expect(executor.ran.mock.calls).toEqual([
      [{ code: 'print(6 * 7)', language: 'python', executionId: events[0]?.id }],
    ]);
    expect(requests[1]?.contents).toEqual([
      { role: 'user', parts: [{ text: '6 * 7?' }] },
      { role: 'model', parts: [{ text: 'I compute it:\n' }, { text: fenced('print(6 * 7)') }] },
      { role: 'user', parts: [{ text: fenced('42\n', 'tool_output') }] },
    ]);
    const { state, events: log } = await stored();
    expect(state).toEqual({ answer: 'It is 42.' });
    expect(log.slice(1)).toEqual(events);
  });

  it.each(['none', 'sse'] as const)(
    'keeps thoughts, and the kind of code; streaming: %s',
    async (streamingMode) => {
      const executor = new Scripted({ stdout: 'hi' });
      const thought = { text: `maybe ${fenced('no()')}`, thought: true };
      const words = { text: fenced('console.log("hi")', 'javascript') };
      const { agent } = await coder(executor, [{ parts: [thought, words] }, { text: 'done' }]);
      const events = await (await chat(agent)).say('go', { streamingMode });
      expect(partsOf(events.filter(({ partial }) => !partial))).toEqual([
        [thought, code('console.log("hi")', 'JAVASCRIPT')],
        [result('hi')],
        [{ text: 'done' }],
      ]);
      expect(executor.ran).toHaveBeenCalledWith(expect.objectContaining({ language: 'javascript' }));
    },
  );

  it('runs only the first code block of each answer', async () => {
    const executor = new Scripted({ stdout: '1' }, { stdout: '2' });
    const both = { text: `${fenced('b()', 'tool_code')} and ${fenced('c()')}` };
    const { agent } = await coder(executor, [both, { text: fenced('c()') }, { text: 'done' }]);
    const events = await (await chat(agent)).say('go');
    expect(partsOf(events)).toEqual([
      [code('b()')],
      [result('1')],
      [code('c()')],
      [result('2')],
      [{ text: 'done' }],
    ]);
  });

  it('runs code that arrives as a part of its own', async () => {
    const executor = new Scripted({ stdout: '1' });
    const parts = [{ text: 'so:' }, code('a()') as Part, { text: 'it is 2' }];
    const { agent } = await coder(executor, [{ parts }, { text: 'done' }]);
    const events = await (await chat(agent)).say('go');
    expect(partsOf(events)).toEqual([[{ text: 'so:' }, code('a()')], [result('1')], [{ text: 'done' }]]);
  });

  it.each([
    ['no code', 'print(1)'],
    ['code of another kind', fenced('ls', 'bash')],
    ['empty code', fenced('')],
    ['a fence that is not closed', '```python\nprint(1)'],
  ])('leaves an answer with %s unchanged', async (_what, text) => {
    const executor = new Scripted();
    const { agent } = await coder(executor, [{ text }]);
    expect(partsOf(await (await chat(agent)).say('go'))).toEqual([[{ text }]]);
    expect(executor.ran).not.toHaveBeenCalled();
  });

  it('reports two failures to the model; code after that is the answer', async () => {
    const failure = { stdout: 'so far', stderr: 'SyntaxError' };
    const executor = new Scripted(failure, failure);
    const text = fenced('oops');
    const { agent, requests } = await coder(executor, [{ text }, { text }, { text }]);
    const failed = [result('so far\nSyntaxError', Outcome.OUTCOME_FAILED)];
    expect(partsOf(await (await chat(agent)).say('go'))).toEqual([
      [code('oops')],
      failed,
      [code('oops')],
      failed,
      [{ text }],
    ]);
    expect(requests).toHaveLength(3);
    expect(JSON.stringify(requests[1]?.contents)).toContain('SyntaxError');
  });

  it('restarts the count of failures after a success, and in the next turn', async () => {
    const bad = { stderr: 'no' };
    const executor = new Scripted(bad, {}, bad, bad, bad);
    const text = fenced('x()');
    const again = Array.from({ length: 6 }, () => ({ text }));
    const { agent } = await coder(executor, [...again, { text: 'enough' }]);
    const { say } = await chat(agent);
    await say('go');
    expect(executor.ran).toHaveBeenCalledTimes(4);
    await say('go on');
    expect(executor.ran).toHaveBeenCalledTimes(5);
  });

  it('runs the calls of an answer and not its code', async () => {
    const executor = new Scripted();
    const calls = [{ name: 'unknown', args: {} }];
    const { agent } = await coder(executor, [{ text: fenced('x()'), calls }, { text: 'done' }]);
    await (await chat(agent)).say('go');
    expect(executor.ran).not.toHaveBeenCalled();
  });

  it('runs the code after a crash between code and result, without a model call', async () => {
    const executor = new Scripted({ stdout: '1' }, { stdout: '2' });
    const { agent, requests } = await coder(executor, [
      { text: fenced('a()') },
      { text: fenced('b()') },
      { text: 'done' },
    ]);
    const events = await runWithCrashes(new SequentialAgent({ name: 'pipeline', subAgents: [agent] }));
    expect(partsOf(events)).toEqual([
      [code('a()')],
      [result('1')],
      [code('b()')],
      [result('2')],
      [{ text: 'done' }],
    ]);
    expect(requests).toHaveLength(3);
    expect(executor.ran.mock.calls.map(([{ executionId }]) => executionId)).toEqual([
      events[0]?.id,
      events[2]?.id,
    ]);
  });

  it('runs the code again under the same id when the process dies during it', async () => {
    class Dying extends Scripted {
      override async executeCode(request: ExecuteCodeRequest): Promise<CodeExecutionResult> {
        const done = await super.executeCode(request);
        if (this.ran.mock.calls.length === 1) throw new Error('the process died');
        return done;
      }
    }
    const executor = new Dying({}, { stdout: '1' });
    const { agent, requests } = await coder(executor, [{ text: fenced('a()') }, { text: 'done' }]);
    const sessionService = new InMemorySessionService();
    const ref = { appName: 'app', userId: 'u', sessionId: 's' };
    await sessionService.createSession(ref);
    const start = async () => {
      const session = (await sessionService.getSession(ref)) ?? expect.fail();
      const newMessage = { parts: [{ text: 'go' }] };
      const runConfig = runConfigSchema.parse({});
      const options = { agent, session, sessionService, invocationId: 'e-1', newMessage, runConfig };
      return await Array.fromAsync(runInvocation(options));
    };
    await expect(start()).rejects.toThrow('died');
    expect(partsOf(await start())).toEqual([[result('1')], [{ text: 'done' }]]);
    const [first, second] = executor.ran.mock.calls;
    expect(second).toEqual(first);
    expect(requests).toHaveLength(2);
  });

  it('shows its code to other agents as text', async () => {
    const executor = new Scripted({ stdout: '1' });
    const { agent } = await coder(executor, [{ text: fenced('a()') }, { text: 'one' }]);
    const { llm, requests } = await scriptedModel({ text: 'ok' });
    const reader = new LlmAgent({ name: 'reader', model: llm });
    await (await chat(new SequentialAgent({ name: 'pipeline', subAgents: [agent, reader] }))).say('go');
    const told = requests[0]?.contents.flatMap(({ parts = [] }) => parts.map(({ text }) => text));
    expect(told).toEqual([
      'go',
      'For context:',
      fenced('a()'),
      'For context:',
      fenced('1', 'tool_output'),
      'For context:',
      '[coder] said: one',
    ]);
  });
});

describe('a model that runs its code itself', () => {
  it('is given the tool; its code and results are parts of one answer', async () => {
    const parts = [code('print(1)'), result('1'), { text: 'one' }] as Part[];
    const { llm } = await scriptedModel({ parts }, { text: 'bye' });
    const tools: unknown[] = [];
    const contents: unknown[] = [];
    const agent = new LlmAgent({
      name: 'root',
      model: llm,
      codeExecutor: new BuiltInCodeExecutor(),
      beforeModelCallback: ({ request }) => {
        tools.push(request.config.tools);
        contents.push(request.contents);
        return undefined;
      },
    });
    const { say } = await chat(agent);
    expect(partsOf(await say('hi'))).toEqual([parts]);
    await say('bye');
    expect(tools).toEqual([[{ codeExecution: {} }], [{ codeExecution: {} }]]);
    expect(contents[1]).toContainEqual({ role: 'model', parts });
  });

  it('is not asked again for code without a result', async () => {
    const { llm, requests } = await scriptedModel({ parts: [code('x()') as Part] });
    const agent = new LlmAgent({ name: 'root', model: llm, codeExecutor: new BuiltInCodeExecutor() });
    expect(await (await chat(agent)).say('hi')).toHaveLength(1);
    expect(requests).toHaveLength(1);
  });
});
