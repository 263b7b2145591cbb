import type { Event } from '@agentmesh/protocol';
import type { BaseSummarizer } from '../base/context-compactor.ts';
import { isTruncating, type SummarizingCompactor } from '../base/context-compactor.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import type { Emit } from '../events/emit.ts';
import { createEvent } from '../events/event.ts';
import { unreadBefore } from '../sessions/session.ts';
import { compactorsFor, type PromptReader, promptHistory, scopeOf } from './prompt-view.ts';
import { LlmSummarizer } from './summarizer.ts';

/**
 * Makes the summaries that are due before a model call, and emits each as an event. A summary that fails does not fail
 * the turn: the prompt is built without it, and the next turn tries again.
 */
export async function compactContext(
  agent: PromptReader,
  context: InvocationContext,
  emit: Emit<Event>,
): Promise<void> {
  for (const compactor of compactorsFor(agent, context)) {
    if (isTruncating(compactor)) continue;
    const event = await summarize(agent, context, compactor);
    if (event) await emit(event);
  }
}

async function summarize(
  agent: PromptReader,
  context: InvocationContext,
  compactor: SummarizingCompactor,
): Promise<Event | undefined> {
  const { invocationId, branch, abortSignal: signal } = context;
  const { positions, ...history } = promptHistory(agent, context);
  const events = history.events.slice(0, compactor.toSummarize(history));
  const [first, last, at] = [events[0], events.at(-1), positions[events.length - 1]];
  if (!first || !last || at === undefined) return undefined;
  const throughSeq = unreadBefore(context.session) + at + 1;
  const { summarizer = new LlmSummarizer({ llm: agent.llm }) } = compactor;
  const hooks = { invocationContext: context, trigger: 'Auto' } as const;
  await context.pluginManager.run('beforeContextCompaction', hooks);
  const compactedContent = await summaryOf(summarizer, summaryFirst(history.summary, events), signal);
  await context.pluginManager.run('afterContextCompaction', hooks);
  if (compactedContent === undefined) return undefined;
  const scope = scopeOf(agent);
  return createEvent({
    // The id is the same when the summary is made again after a crash.
    id: `${invocationId}/compaction/${agent.name}/${throughSeq}`,
    invocationId,
    author: agent.name,
    ...(branch !== undefined && { branch }),
    actions: {
      compaction: {
        startTimestamp: first.timestamp,
        endTimestamp: last.timestamp,
        throughSeq,
        compactedContent,
        ...(scope !== undefined && { agent: scope }),
      },
    },
  });
}

/** Puts the earlier summary first, so that the next summary covers it. */
function summaryFirst(summary: string | undefined, events: readonly Event[]): readonly Event[] {
  if (summary === undefined) return events;
  return [
    createEvent({ author: 'summary', content: { role: 'user', parts: [{ text: summary }] } }),
    ...events,
  ];
}

async function summaryOf(
  summarizer: BaseSummarizer,
  events: readonly Event[],
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  try {
    return (await summarizer.summarize(events, { signal })).compactedContent;
  } catch (error) {
    signal?.throwIfAborted();
    process.emitWarning(
      `the conversation was not summarized: ${error instanceof Error ? error.message : error}`,
      { code: 'AGENTMESH_NO_SUMMARY' },
    );
    return undefined;
  }
}
