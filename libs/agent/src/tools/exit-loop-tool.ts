import { type FunctionDeclaration, Type } from '@google/genai';
import { BaseTool, type RunToolRequest } from '../base/base-tool.ts';

/** Lets a model end the loop that its agent runs in. */
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

/** One for all: it has no state. */
export const EXIT_LOOP = new ExitLoopTool();
