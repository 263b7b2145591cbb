import type { Event } from '@agentmesh/protocol';
import type { BaseAgent } from '../base/base-agent.ts';
import type { BaseCodeExecutor, CodeExecutionResult } from '../base/base-code-executor.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import type { Emit } from '../events/emit.ts';
import { createEvent, getFunctionCalls } from '../events/event.ts';
import { turnOf } from '../journal/journal.ts';
import { trailingCode } from '../journal/step-mark.ts';
import { Outcome } from '../schema/genai.ts';
import { cutAtCode, failuresInARow, languageOf } from './code-blocks.ts';

/**
 * Tells whether an answer holds code for the agent's executor. Then the event ends with the code, because the
 * model has made up everything after it. Code is not run when the answer also calls functions, or after too
 * many failures in a row.
 */
export function takeCode(agent: BaseAgent, context: InvocationContext, event: Event): boolean {
  const executor = localExecutor(agent);
  if (!executor || !event.content || getFunctionCalls(event).length > 0) return false;
  const outcomes = turnOf(context).events.flatMap(({ author, content }) =>
    author === agent.name ? (content?.parts ?? []) : [],
  );
  const failures = failuresInARow(
    outcomes.flatMap(({ codeExecutionResult: result }) => (result ? [result.outcome] : [])),
  );
  if (failures >= executor.errorRetryAttempts) return false;
  const cut = cutAtCode(event.content, executor);
  if (!cut) return false;
  event.content = cut;
  return true;
}

function localExecutor({ codeExecutor }: BaseAgent): BaseCodeExecutor | undefined {
  return codeExecutor?.isBuiltIn ? undefined : codeExecutor;
}

/**
 * Runs the code of an event and emits its result. Code that a crash interrupted runs again, like a tool in
 * the agent's own process.
 */
export async function runCode(
  agent: BaseAgent,
  context: InvocationContext,
  { id: executionId, content }: Event,
  emit: Emit<Event>,
): Promise<void> {
  const executableCode = trailingCode(content);
  const executor = localExecutor(agent);
  if (!executableCode || !executor) return;
  const { code = '' } = executableCode;
  const result = await executor.executeCode({
    invocationContext: context,
    codeExecutionInput: { code, language: languageOf(executableCode), executionId },
  });
  context.abortSignal?.throwIfAborted();
  const { invocationId, branch } = context;
  const event = createEvent({
    invocationId,
    author: agent.name,
    ...(branch !== undefined && { branch }),
    content: { role: 'model', parts: [{ codeExecutionResult: toPart(result) }] },
  });
  await emit(event);
}

function toPart({ stdout, stderr, outcome }: CodeExecutionResult) {
  const output = [stdout, stderr].filter((each) => each !== '').join('\n');
  return { outcome: outcome ?? (stderr === '' ? Outcome.OUTCOME_OK : Outcome.OUTCOME_FAILED), output };
}
