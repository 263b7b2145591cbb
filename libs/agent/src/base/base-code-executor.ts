import type { Outcome } from '@google/genai';
import type { LlmRequest } from './base-llm.ts';
import type { InvocationContext } from './invocation-context.ts';

export interface CodeExecutionInput {
  code: string;
  /** The word behind the opening fence: `python`, `javascript`; `python` for `tool_code`. */
  language: string;
  /** The id of the event with the code: the same when a crash makes it run a second time. */
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

/** Runs the code that a model writes. What it throws ends the run; what the code does wrong goes into the result. */
export abstract class BaseCodeExecutor {
  /** So many failures in a row go back to the model; the code that follows is not run, but is the answer. */
  readonly errorRetryAttempts: number = 2;
  /** What stands before and after code in a model's answer. */
  readonly codeBlockDelimiters: readonly (readonly [string, string])[] = [
    ['```tool_code\n', '\n```'],
    ['```python\n', '\n```'],
    ['```javascript\n', '\n```'],
  ];
  /** What a model reads before and after the result. */
  readonly executionResultDelimiters: readonly [string, string] = ['```tool_output\n', '\n```'];

  /** Does the model's server run the code itself? Then nothing is run here. */
  get isBuiltIn(): boolean {
    return false;
  }

  /** Changes what goes to the model. */
  processLlmRequest(_request: LlmRequest): void {}

  /** Heed `invocationContext.abortSignal`. */
  abstract executeCode(request: ExecuteCodeRequest): Promise<CodeExecutionResult>;
}
