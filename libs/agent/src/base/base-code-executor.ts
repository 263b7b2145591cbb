import type { Outcome } from '@google/genai';
import type { LlmRequest } from './base-llm.ts';
import type { InvocationContext } from './invocation-context.ts';

export interface CodeExecutionInput {
  code: string;
  /** The language after the opening fence: `python`, `javascript`; `python` for `tool_code`. */
  language: string;
  /** The id of the event with the code. It is the same when the code runs a second time after a crash. */
  executionId: string;
}

export interface CodeExecutionResult {
  stdout: string;
  stderr: string;
  /** Default: failed when there is anything on `stderr`. */
  outcome?: Outcome;
}

export interface ExecuteCodeRequest {
  invocationContext: InvocationContext;
  codeExecutionInput: CodeExecutionInput;
}

/**
 * The base class of executors for code that a model writes. An exception of an executor ends the run; a
 * failure of the executed code becomes part of the result.
 */
export abstract class BaseCodeExecutor {
  /**
   * Number of consecutive failures that are reported to the model. The code after the last failure is not
   * run: that code stays in the answer.
   */
  readonly errorRetryAttempts: number = 2;
  /** Delimiters before and after code in a model's answer. */
  readonly codeBlockDelimiters: readonly (readonly [string, string])[] = [
    ['```tool_code\n', '\n```'],
    ['```python\n', '\n```'],
    ['```javascript\n', '\n```'],
  ];
  /** Delimiters before and after the result, as the model reads it. */
  readonly executionResultDelimiters: readonly [string, string] = ['```tool_output\n', '\n```'];

  /** Tells whether the model's server runs the code itself. Then this process runs nothing. */
  get isBuiltIn(): boolean {
    return false;
  }

  /** Changes the request before it is sent to the model. */
  processLlmRequest(_request: LlmRequest): void {}

  /** Runs the code. It must stop when `invocationContext.abortSignal` is aborted. */
  abstract executeCode(request: ExecuteCodeRequest): Promise<CodeExecutionResult>;
}
