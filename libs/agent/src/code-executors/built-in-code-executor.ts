import { MeshError } from '@agentmesh/protocol';
import { BaseCodeExecutor, type CodeExecutionResult } from '../base/base-code-executor.ts';
import type { LlmRequest } from '../base/base-llm.ts';

/** Lets Gemini run code on its own servers: adds Gemini's code execution tool to each request. */
export class BuiltInCodeExecutor extends BaseCodeExecutor {
  override get isBuiltIn(): boolean {
    return true;
  }

  override processLlmRequest({ config }: LlmRequest): void {
    config.tools = [...(config.tools ?? []), { codeExecution: {} }];
  }

  /** @throws MeshError `failed_precondition` always, because the model's server runs the code */
  override async executeCode(): Promise<CodeExecutionResult> {
    throw new MeshError(
      'failed_precondition',
      'the model runs this code itself; use another executor to run it here',
    );
  }
}
