import type { ClientTool as ClientToolDeclaration } from '@agentmesh/protocol';
import type { FunctionDeclaration } from '@google/genai';
import { BaseTool } from '../base/base-tool.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { clientTools } from '../journal/client-input.ts';

/** A tool that the client of a run declares and runs. Its call is pending until the client sends the response. */
class ClientTool extends BaseTool {
  readonly #parameters: ClientToolDeclaration['parameters'];

  constructor({ name, description, parameters }: ClientToolDeclaration) {
    super({ name, description, isLongRunning: true });
    this.#parameters = parameters;
  }

  override _getDeclaration(): FunctionDeclaration {
    const parametersJsonSchema = { type: 'object', properties: {}, ...this.#parameters };
    return { name: this.name, description: this.description, parametersJsonSchema };
  }

  /** Not called: the next step of an agent leaves the calls to the client. */
  override async runAsync(): Promise<undefined> {
    return undefined;
  }
}

/** Returns the tools that the client of this run offers. */
export function toolsOfClient(context: InvocationContext): BaseTool[] {
  return clientTools(context).map((tool) => new ClientTool(tool));
}
