import { type Event, MeshError } from '@agentmesh/protocol';
import { type Content, type FunctionDeclaration, Type } from '@google/genai';
import type { BaseAgent } from './base-agent.ts';
import { BaseTool, type RunToolRequest } from './base-tool.ts';
import type { Context } from './context.ts';
import { answerText, newFunctionCallId } from './event.ts';
import { runInvocation } from './invocation.ts';
import { LlmAgent } from './llm-agent.ts';
import { zodToSchema } from './schema.ts';
import type { Session, SessionService } from './session-service.ts';
import { pickScopes } from './state.ts';

/** What an agent says when it is asked. */
export interface AgentAnswer {
  text: string;
  /** What it changed in the state, all scopes but `temp:`. */
  stateDelta: Record<string, unknown>;
}

/** An agent that answers asks in its own way: one in another process does. */
export interface Askable {
  ask(message: Content, toolContext: Context): Promise<AgentAnswer>;
}

export interface AgentToolConfig {
  agent: BaseAgent;
  /** The agent's answer is the answer; the caller's model does not put it into words again. */
  skipSummarization?: boolean;
}

/**
 * An agent as a tool: it works on the request in a session of its own, sees the caller's state, and its answer goes back to the caller, who
 * keeps the conversation.
 */
export class AgentTool extends BaseTool {
  readonly agent: BaseAgent;
  readonly #skipSummarization: boolean;

  constructor({ agent, skipSummarization = false }: AgentToolConfig) {
    super({ name: agent.name, description: agent.description });
    this.agent = agent;
    this.#skipSummarization = skipSummarization;
  }

  // Of an agent elsewhere the description is known only once its card is.
  override get description(): string {
    return this.agent.description;
  }

  override getDeclaration(): FunctionDeclaration {
    const schema = this.agent instanceof LlmAgent ? this.agent.inputSchema : undefined;
    const request = { type: Type.STRING, description: 'What the agent shall do, with all it needs to know.' };
    return {
      name: this.name,
      description: this.description,
      parameters: schema
        ? zodToSchema(schema)
        : { type: Type.OBJECT, properties: { request }, required: ['request'] },
    };
  }

  override async runAsync({ args, toolContext }: RunToolRequest): Promise<unknown> {
    const message = { role: 'user', parts: [{ text: this.#readRequest(args) }] };
    const answer = isAskable(this.agent)
      ? await this.agent.ask(message, toolContext)
      : await askHere(this.agent, message, toolContext);
    await takeOver(answer.stateDelta, toolContext);
    if (this.#skipSummarization) toolContext.actions.skipSummarization = true;
    return answer.text;
  }

  #readRequest(args: Record<string, unknown>): string {
    const schema = this.agent instanceof LlmAgent ? this.agent.inputSchema : undefined;
    if (schema) return JSON.stringify(schema.parse(args));
    const { request } = args;
    if (typeof request === 'string') return request;
    throw new MeshError(
      'invalid_argument',
      `missing parameter "request" of ${this.name}: the text of what it shall do`,
    );
  }
}

function isAskable(agent: BaseAgent): agent is BaseAgent & Askable {
  return 'ask' in agent && typeof agent.ask === 'function';
}

/**
 * Session state goes into the caller's next event. What the agent wrote to shared scopes and to `temp:` is committed already; it is
 * shown here and not written again, so that a third one's newer value is not overwritten.
 */
async function takeOver(
  delta: Record<string, unknown>,
  { state, invocationContext }: Context,
): Promise<void> {
  state.update(pickScopes(delta, ['session']));
  if (!invocationContext) return;
  const { session, sessionService, ref } = invocationContext;
  const { temp } = await sessionService.getInvocation(ref);
  Object.assign(session.state, pickScopes(delta, ['app', 'user']), temp);
}

/** Asks an agent of this process: in a hidden session that belongs to the call. */
async function askHere(agent: BaseAgent, message: Content, toolContext: Context): Promise<AgentAnswer> {
  const context = toolContext.invocationContext;
  if (!context) {
    throw new MeshError(
      'failed_precondition',
      `agent ${agent.name} can be asked only from within an agent's invocation`,
    );
  }
  const session = await childSession(context.sessionService, toolContext);
  return await collectAnswer(
    agent.name,
    runInvocation({
      agent,
      session,
      sessionService: context.sessionService,
      invocationId: context.invocationId,
      newMessage: message,
      runConfig: context.runConfig,
      carrier: context.carrier,
      ...(context.abortSignal && { abortSignal: context.abortSignal }),
    }),
  );
}

async function childSession(sessionService: SessionService, toolContext: Context): Promise<Session> {
  const { appName, userId, functionCallId: sessionId = newFunctionCallId() } = toolContext;
  return await openSession(sessionService, {
    appName,
    userId,
    sessionId,
    state: pickScopes(toolContext.state.toRecord(), ['session']),
  });
}

/** Starts the session of an ask, or opens it where the ask was begun before. */
export async function openSession(
  sessionService: SessionService,
  request: { appName: string; userId: string; sessionId: string; state: Record<string, unknown> },
): Promise<Session> {
  const known = await sessionService.getSession(request);
  if (known) return known;
  try {
    return await sessionService.createSession({ ...request, hidden: true });
  } catch (error) {
    const made = error instanceof MeshError && error.code === 'already_exists';
    const session = made ? await sessionService.getSession(request) : undefined;
    if (session) return session;
    throw error;
  }
}

/**
 * Reads an agent's answer off its events: the words of the last one that has any, and all it wrote to the state.
 *
 * @throws MeshError `internal` when the agent's last word is an error.
 */
export async function collectAnswer(agentName: string, events: AsyncIterable<Event>): Promise<AgentAnswer> {
  const answer: AgentAnswer = { text: '', stateDelta: {} };
  for await (const event of events) {
    if (event.partial || event.author === 'user') continue;
    Object.assign(answer.stateDelta, event.actions.stateDelta);
    if (event.errorCode !== undefined) {
      throw new MeshError('internal', `agent ${agentName} failed: ${event.errorMessage ?? event.errorCode}`);
    }
    const text = answerText(event);
    if (text) answer.text = text;
  }
  return answer;
}
