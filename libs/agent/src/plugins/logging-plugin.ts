import type { Event } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import { type LlmRequest, readContents } from '../base/base-llm.ts';
import { BasePlugin } from '../base/base-plugin.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { getFunctionCalls, getFunctionResponses, stringifyContent } from '../events/event.ts';

/** The output of log lines. */
export type LogLine = (line: string) => void;

/**
 * A plugin that logs what happens in a run, one line for each step. It is meant for development; services
 * write their own logs.
 */
export class LoggingPlugin extends BasePlugin {
  readonly #log: LogLine;

  constructor(name = 'logging_plugin', log: LogLine = (line) => console.log(line)) {
    super(name);
    this.#log = log;
  }

  override async onUserMessageCallback({
    invocationContext,
    userMessage,
  }: {
    invocationContext: InvocationContext;
    userMessage: Content;
  }): Promise<undefined> {
    this.#log(`[${this.name}] ${invocationContext.invocationId} user: ${brief(userMessage)}`);
  }

  override async onEventCallback({ event }: { event: Event }): Promise<undefined> {
    if (!event.partial) this.#log(`[${this.name}] ${event.invocationId} ${event.author}: ${told(event)}`);
  }

  override async beforeModelCallback({ llmRequest }: { llmRequest: LlmRequest }): Promise<undefined> {
    this.#log(`[${this.name}] asks ${llmRequest.model}: ${readContents(llmRequest).length} contents`);
  }

  override async onModelErrorCallback({ error }: { error: Error }): Promise<undefined> {
    this.#log(`[${this.name}] model failed: ${error.message}`);
  }

  override async onToolErrorCallback({
    tool,
    error,
  }: {
    tool: { name: string };
    error: Error;
  }): Promise<undefined> {
    this.#log(`[${this.name}] tool ${tool.name} failed: ${error.message}`);
  }

  override async afterRunCallback({
    invocationContext,
  }: {
    invocationContext: InvocationContext;
  }): Promise<void> {
    this.#log(`[${this.name}] ${invocationContext.invocationId} ends`);
  }
}

function told(event: Event): string {
  if (event.errorCode !== undefined) return `fails with ${event.errorCode}: ${event.errorMessage}`;
  const calls = getFunctionCalls(event).map(({ name, args }) => `calls ${name}(${JSON.stringify(args)})`);
  const results = getFunctionResponses(event).map(
    ({ name, response }) => `${name} gave ${JSON.stringify(response)}`,
  );
  return (
    [stringifyContent(event), ...calls, ...results].filter((each) => each !== '').join('; ') || '(no words)'
  );
}

function brief({ parts = [] }: Content): string {
  return parts.map((part) => part.text ?? `(${Object.keys(part)[0]})`).join(' ');
}
