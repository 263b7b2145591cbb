import {
  assertOptions,
  type InputRequest,
  MeshError,
  type OptionNames,
  type ToolConfirmation,
} from '@agentmesh/protocol';
import type { Content, FunctionCall, FunctionDeclaration } from '@google/genai';
import { BaseAgent } from '../base/base-agent.ts';
import { BaseTool, type RunToolRequest } from '../base/base-tool.ts';
import type { Context } from '../base/context.ts';
import type { TransferPort } from '../base/transfer-port.ts';
import { newFunctionCallId } from '../events/event.ts';
import { questionNames } from '../events/question.ts';
import { pickScopes } from '../events/state.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { type InvocationOptions, invoke } from '../invocation/invocation.ts';
import { newestRun } from '../journal/journal.ts';
import { answerToQuestion, isPassedOn } from '../questions/questions.ts';
import { Type } from '../schema/genai.ts';
import {
  describeMisfit,
  isZodObject,
  missingKeys,
  parseValue,
  type ToolParameters,
  toGenaiSchema,
} from '../schema/schema.ts';
import { startAgentSpan } from '../telemetry/agent-span.ts';
import { ToolArgumentsError } from '../tools/function-tool.ts';
import { type AgentAnswer, type OpenCall, readAnswer } from './agent-answer.ts';
import { openSession } from './child-session.ts';
import { forwardArtifacts } from './forward-artifacts.ts';
import { forwardEvents } from './forward-events.ts';
import { stateForAsk, takeOver } from './shared-state.ts';

/** An agent that handles asks itself, as a remote agent does. It checks the input itself. */
export interface Askable {
  /** The input schema of the agent, as models see it; undefined for plain text. */
  readonly inputParameters?: ToolParameters | undefined;
  ask(message: Content, toolContext: Context): Promise<AgentAnswer>;
}

export interface AgentToolConfig {
  agent: BaseAgent;
  /** Uses the agent's answer as the caller's answer. The caller's model does not rephrase it. */
  skipSummarization?: boolean;
}

const options: OptionNames<AgentToolConfig> = { agent: true, skipSummarization: true };

/**
 * An agent as a tool. The agent works on the request in a child session and sees the caller's state. Its
 * answer goes back to the caller, who keeps the conversation. Files that the agent saves belong to the
 * caller's session. With `outputSchema` the result is the value itself.
 */
export class AgentTool extends BaseTool {
  readonly agent: BaseAgent;
  readonly #skipSummarization: boolean;

  /** @throws MeshError `invalid_argument` for an unknown option, or a missing agent */
  constructor(config: AgentToolConfig) {
    assertOptions('an AgentTool', config ?? null, options, { isOpen: new.target !== AgentTool });
    const { agent, skipSummarization = false } = config;
    if (!(agent instanceof BaseAgent))
      throw new MeshError('invalid_argument', 'an AgentTool needs an agent: new AgentTool({ agent })');
    super({ name: agent.name, description: agent.description });
    this.agent = agent;
    this.#skipSummarization = skipSummarization;
  }

  // The description of a remote agent is known only after its card has arrived.
  override get description(): string {
    return this.agent.description;
  }

  override _getDeclaration(): FunctionDeclaration {
    const schema = this.#inputSchema();
    const request = { type: Type.STRING, description: 'What the agent shall do, with all it needs to know.' };
    return {
      name: this.name,
      description: this.description,
      parameters: schema
        ? toGenaiSchema(schema)
        : { type: Type.OBJECT, properties: { request }, required: ['request'] },
    };
  }

  override async runAsync({ args, toolContext }: RunToolRequest): Promise<unknown> {
    const message = { role: 'user', parts: [{ text: this.#readRequest(args) }] };
    const answer = isAskable(this.agent)
      ? await this.agent.ask(message, toolContext)
      : await askHere(this.agent, message, toolContext);
    await takeOver(answer, toolContext);
    if (answer.openCalls?.length) return this.#waiting(answer, toolContext);
    if (this.#skipSummarization) toolContext.actions.skipSummarization = true;
    if (answer.output !== undefined) return answer.output;
    return (
      answer.text || { status: 'completed', message: `agent ${this.name} has finished and said nothing` }
    );
  }

  /**
   * Handles pending calls within the agent's own session. A question for a confirmation or an input becomes a
   * question of this call, and its answer goes to the agent. For all other pending calls the caller is told
   * that there is no answer yet, and why.
   */
  #waiting({ openCalls = [], text }: AgentAnswer, toolContext: Context) {
    const question = openCalls.find(({ name }) => isPassedOn(name));
    if (question) passOn(this.name, question, toolContext);
    return {
      status: 'pending',
      message: `agent ${this.name} has not finished: it waits for answers to calls of its own`,
      openCalls,
      ...(text && { said: text }),
    };
  }

  #inputSchema(): ToolParameters | undefined {
    const { agent } = this;
    return agent instanceof LlmAgent || isAskable(agent) ? agent.inputParameters : undefined;
  }

  #readRequest(args: Record<string, unknown>): string {
    const schema = this.#inputSchema();
    if (schema) return readInput(this.name, schema, args);
    const { request } = args;
    if (typeof request === 'string') return request;
    throw new MeshError(
      'invalid_argument',
      `missing parameter "request" of ${this.name}: the text of what it shall do`,
    );
  }
}

/**
 * Converts the input of an agent to its text.
 *
 * @throws ToolArgumentsError for input that does not fit the schema
 */
function readInput(agent: string, schema: ToolParameters, input: Record<string, unknown>): string {
  if (isZodObject(schema)) {
    const result = parseValue(schema, input);
    if (result.success) return JSON.stringify(result.data);
    throw new ToolArgumentsError(agent, describeMisfit(input, result.error));
  }
  const missing = missingKeys(schema, input);
  if (missing.length === 0) return JSON.stringify(input);
  throw new ToolArgumentsError(agent, missing.map((key) => `missing parameter "${key}"`).join('; '));
}

/**
 * Checks an ask from outside against the agent's input schema. The message is JSON text then, and the agent
 * receives it with the schema's defaults.
 *
 * @throws ToolArgumentsError for a message that does not fit
 */
export function checkAsk(agent: BaseAgent, message: Content): Content {
  const schema = agent instanceof LlmAgent ? agent.inputParameters : undefined;
  if (!schema) return message;
  const text = (message.parts ?? []).map((part) => part.text ?? '').join('');
  return { ...message, parts: [{ text: readInput(agent.name, schema, parseObject(agent.name, text)) }] };
}

function parseObject(agent: string, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // The error below explains it.
  }
  throw new ToolArgumentsError(agent, 'the message must be a JSON object that fits its input schema');
}

/** Asks an agent's question to a person in the name of the calling tool call. */
function passOn(agent: string, { name, args }: OpenCall, toolContext: Context): void {
  const { toolConfirmation, originalFunctionCall, ...input } = args as {
    toolConfirmation?: ToolConfirmation;
    originalFunctionCall?: FunctionCall;
  } & Partial<InputRequest>;
  const request = name === questionNames.input ? input : toolConfirmation;
  const { name: calledTool = '', args: callArgs = {} } = originalFunctionCall ?? {};
  const within = request?.within
    ? { ...request.within, agents: [agent, ...request.within.agents] }
    : { agents: [agent], call: { name: calledTool, args: callArgs } };
  if (name === questionNames.input) {
    const { message = '', payload, responseSchema } = input;
    toolContext.requestInput({ message, payload, responseSchema, within });
  } else {
    const { hint, payload, payloadSchema, confirmableBy } = toolConfirmation ?? {};
    toolContext.requestConfirmation({
      ...{ hint, payload, payloadSchema, within },
      ...(confirmableBy && { confirmableBy }),
    });
  }
}

function isAskable(agent: BaseAgent): agent is BaseAgent & Askable {
  return 'ask' in agent && typeof agent.ask === 'function';
}

/**
 * Asks an agent of this process, in the child session of the call. The answer is read from that session, so a
 * call that runs again after a crash gets the answer that is already there.
 */
async function askHere(agent: BaseAgent, message: Content, toolContext: Context): Promise<AgentAnswer> {
  const context = toolContext.invocationContext;
  if (!context) {
    throw new MeshError(
      'failed_precondition',
      `agent ${agent.name} can be asked only from within an agent's invocation`,
    );
  }
  const { sessionService, invocationId, runConfig, carrier, pluginManager, observe, transfers } = context;
  const artifactService = forwardArtifacts(context);
  const { abortSignal = context.abortSignal, functionCallId = newFunctionCallId() } = toolContext;
  const state = stateForAsk(toolContext);
  const session = await openSession(sessionService, {
    appName: toolContext.appName,
    userId: toolContext.userId,
    sessionId: functionCallId,
    state,
  });
  const answer = answerToQuestion(session.events, toolContext);
  const { attempt } = context;
  using span = startAgentSpan(agent.name, { session, invocationId, carrier, attempt, abortSignal });
  const forward = observe && forwardEvents(functionCallId, observe);
  const options: InvocationOptions = {
    agent,
    session,
    sessionService,
    invocationId,
    ...(context.resume !== undefined && { resume: context.resume }),
    isAsked: true,
    isChecked: answer !== undefined,
    newMessage: answer ?? message,
    stateDelta: pickScopes(state, ['temp']),
    runConfig,
    carrier: span?.carrier ?? carrier,
    pluginManager,
    caller: context.caller,
    ...(transfers && { transfers: withoutHandOver(transfers) }),
    ...(abortSignal && { abortSignal }),
    ...(artifactService && { artifactService }),
    ...(context.memoryService && { memoryService: context.memoryService }),
    ...(context.credentialService && { credentialService: context.credentialService }),
    ...(context.signInService && { signInService: context.signInService }),
    ...(context.onFailure && { onFailure: context.onFailure }),
  };
  try {
    await invoke(options, async (event) => forward?.(event));
  } catch (thrown) {
    span?.fail(thrown);
    throw thrown;
  }
  return readAnswer(agent, newestRun(session.events, invocationId), session.events);
}

/**
 * Removes `handOver`: the caller waits for the answer, so a remote agent that takes over the conversation
 * runs from here.
 */
function withoutHandOver({ handOver: _handOver, ...port }: TransferPort): TransferPort {
  return port;
}
