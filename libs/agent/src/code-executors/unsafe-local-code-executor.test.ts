import { existsSync } from 'node:fs';
import { Outcome } from '@google/genai';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { InvocationContext } from '../base/invocation-context.ts';
import {
  UnsafeLocalCodeExecutor,
  type UnsafeLocalCodeExecutorOptions,
} from './unsafe-local-code-executor.ts';

const run = (
  code: string,
  {
    language = 'javascript',
    signal,
    ...options
  }: UnsafeLocalCodeExecutorOptions & { language?: string; signal?: AbortSignal } = {},
) =>
  new UnsafeLocalCodeExecutor(options).executeCode({
    invocationContext: { abortSignal: signal } as InvocationContext,
    codeExecutionInput: { code, language, executionId: 'e' },
  });

describe('the local code executor', () => {
  it('returns the output of the code, which runs in a temporary folder', async () => {
    const { stdout, stderr, outcome } = await run(
      'require("fs").writeFileSync("a", "ü"); console.log(process.cwd()); console.error("careful")',
    );
    expect({ stderr, outcome }).toEqual({ stderr: 'careful\n', outcome: Outcome.OUTCOME_OK });
    expect(stdout).toMatch(/agentmesh-code-\w+\n$/);
    expect(existsSync(stdout.trim())).toBe(false);
  });

  it('keeps the environment of this process from the code', async () => {
    vi.stubEnv('SOME_SECRET', 'shh');
    onTestFinished(() => void vi.unstubAllEnvs());
    const { stdout } = await run('console.log(Object.keys(process.env).sort().join())');
    expect(stdout).not.toContain('SOME_SECRET');
    expect(stdout).toContain('PATH');
  });

  it.each([
    ['throws', 'console.log(1); throw new Error("oops")', '1\n', /oops/],
    ['ends with a code', 'process.exit(3)', '', /ended with code 3/],
    ['is none', 'this is no code', '', /SyntaxError/],
  ])('reports the failure of code that %s', async (_what, code, stdout, stderr) => {
    const result = await run(code);
    expect(result).toEqual({
      stdout,
      stderr: expect.stringMatching(stderr),
      outcome: Outcome.OUTCOME_FAILED,
    });
  });

  it.each([
    ['a language that it does not know', 'cobol', /cobol cannot be run here/],
    ['a language that is not installed', 'python', /no-such-python cannot be started/],
    ['a language that all objects have', 'constructor', /cannot be run here/],
  ])('reports %s', async (_what, language, words) => {
    const result = await run('1', { language, pythonCommandPath: 'no-such-python' });
    expect(result).toMatchObject({ stderr: expect.stringMatching(words), outcome: Outcome.OUTCOME_FAILED });
  });

  it('runs what is named as Python', async () => {
    // `cat` stands for any program that takes a file; the test checks that it receives this one.
    const result = await run('print(1)', { language: 'python', pythonCommandPath: 'cat' });
    expect(result).toMatchObject({ stdout: 'print(1)', outcome: Outcome.OUTCOME_OK });
  });

  it('stops code at the time limit, with its child processes', async () => {
    const code = `
      const { spawn } = require("child_process");
      spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit" });
      console.log("started");
      setInterval(() => {}, 1000);
    `;
    const result = await run(code, { timeoutSeconds: 0.5 });
    expect(result).toMatchObject({
      stderr: 'the code was stopped after 0.5 seconds',
      outcome: Outcome.OUTCOME_DEADLINE_EXCEEDED,
    });
  });

  it('stops the code of a run that is aborted', async () => {
    const result = await run('setInterval(() => {}, 1000)', { signal: AbortSignal.abort() });
    expect(result.outcome).toBe(Outcome.OUTCOME_FAILED);
  });

  it('limits the stored output', async () => {
    const { stdout } = await run('console.log("x".repeat(1_000_000))');
    expect(stdout).toMatch(/^x{50000}\n\[cut after 50000 characters\]$/);
  });

  it('refuses an invalid timeout', () => {
    expect(() => new UnsafeLocalCodeExecutor({ timeoutSeconds: 0 })).toThrow(/timeoutSeconds/);
  });
});
