import type { Event } from '@agentmesh/protocol';
import { pathOf } from '../events/agent-path.ts';
import { setStepMark } from '../journal/step-mark.ts';
import type { InvocationContext } from './invocation-context.ts';

/**
 * Records what an event means for the next step, before user code sees it. `ends` is undefined for an event
 * that is not a step.
 */
export function noteStep(context: InvocationContext, event: Event, ends: boolean | undefined): void {
  // The process that commits the event of a held step does not have the original.
  const { author } = event;
  if (context.held && ends !== undefined) setStepMark(event, { ends, by: author });
  context.noteMade(event, { author, ends, gist: gist(event) });
}

/** Marks an event, before it is committed, when user code has changed it since its agent yielded it. */
export function markIfChanged(context: InvocationContext, event: Event): void {
  const original = context.madeAs(event.id);
  if (original?.ends === undefined || original.gist === gist(event)) return;
  setStepMark(event, { ends: original.ends, by: original.author });
}

/** Tells whether the event is in the log with other content, as far as steps are concerned. */
export function changedSince(event: Event, logged: Event | undefined): boolean {
  return logged !== undefined && gist(event) !== gist(logged);
}

function gist(event: Event): string {
  const { author, branch, invocationId, content, actions, errorCode, longRunningToolIds } = event;
  const { transferToAgent, skipSummarization } = actions;
  return JSON.stringify([
    author,
    branch,
    invocationId,
    pathOf(event),
    content?.parts,
    transferToAgent,
    skipSummarization,
    errorCode,
    longRunningToolIds,
  ]);
}
