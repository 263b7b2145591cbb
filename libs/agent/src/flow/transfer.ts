import { MeshError } from '@agentmesh/protocol';
import type { FunctionDeclaration } from '@google/genai';
import { BaseTool, type RunToolRequest } from '../base/base-tool.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import type { TransferTarget } from '../base/transfer-port.ts';
import { Type } from '../schema/genai.ts';
import type { LlmAgent } from './llm-agent.ts';

export const transferToolName = 'transfer_to_agent';

/** Describes the agent's colleagues to the model. */
export function transferInstruction(targets: readonly TransferTarget[]): string {
  const list = targets
    .map(({ name, description }) => `- ${name}: ${description || '(no description)'}`)
    .join('\n');
  return `These agents can take over the conversation:
${list}
If one of them fits the user's request better than you do, call ${transferToolName} with its name and say nothing else; otherwise answer yourself.`;
}

/** The tool by which the model transfers the conversation to another agent. */
export class TransferToAgentTool extends BaseTool {
  readonly #targets: readonly TransferTarget[];

  constructor(targets: readonly TransferTarget[]) {
    super({ name: transferToolName, description: 'Hands the conversation over to another agent.' });
    this.#targets = targets;
  }

  override _getDeclaration(): FunctionDeclaration {
    const agentName = {
      type: Type.STRING,
      description: 'Name of the agent that takes over.',
      enum: this.#targets.map(({ name }) => name),
    };
    return {
      name: this.name,
      description: this.description,
      parameters: { type: Type.OBJECT, properties: { agentName }, required: ['agentName'] },
    };
  }

  // Models also know the argument in Python's spelling.
  override async runAsync({ args, toolContext }: RunToolRequest): Promise<unknown> {
    const name = args.agentName ?? args.agent_name;
    if (typeof name !== 'string') return { error: `missing parameter "agentName": one of ${this.#names()}` };
    if (!this.#targets.some((target) => target.name === name)) {
      return { error: `no agent "${name}" to transfer to; choose one of ${this.#names()}` };
    }
    toolContext.actions.transferToAgent = name;
    return { result: 'Transfer queued' };
  }

  #names(): string {
    return this.#targets.map(({ name }) => name).join(', ');
  }
}

/**
 * Tells why a requested transfer is impossible. The model gets this text before the transfer is tried, so it
 * can choose again.
 */
export function transferProblem(
  agent: LlmAgent,
  { transfers }: InvocationContext,
  targets: readonly TransferTarget[],
  to: string | undefined,
): string | undefined {
  if (to === undefined) return undefined;
  const local = agent.rootAgent.findAgent(to);
  if (local && !local.isRemote) return undefined;
  const isOurs = local !== undefined || targets.some(({ name }) => name === to) || transfers?.reaches(to);
  if (!isOurs) return `"${to}" is no agent of this application`;
  return transfers && !transfers.knows(to) ? `agent "${to}" is not in the mesh now` : undefined;
}

export function remoteError(to: string): MeshError {
  return new MeshError(
    'failed_precondition',
    `agent ${to} runs elsewhere: serve the root agent on the mesh (serveAgent) to transfer to it`,
  );
}
