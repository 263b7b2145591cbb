import type { FunctionDeclaration } from '@google/genai';
import { BaseTool, type RunToolRequest } from '../base/base-tool.ts';
import { Type } from '../schema/genai.ts';

/** The tool by which a model ends the loop that runs its agent. */
export class ExitLoopTool extends BaseTool {
  constructor() {
    super({
      name: 'exit_loop',
      description: 'Ends the loop. Call it only when you were told to and the work is done.',
    });
  }

  override _getDeclaration(): FunctionDeclaration {
    return {
      name: this.name,
      description: this.description,
      parameters: { type: Type.OBJECT, properties: {} },
    };
  }

  override async runAsync({ toolContext }: RunToolRequest): Promise<unknown> {
    toolContext.actions.escalate = true;
    toolContext.actions.skipSummarization = true;
    return '';
  }
}

/** A shared instance: it has no state. */
export const EXIT_LOOP = new ExitLoopTool();
