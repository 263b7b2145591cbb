import type { Event } from '@agentmesh/protocol';
import { setStepMark } from '../journal/step-mark.ts';
import type { InvocationContext } from './invocation-context.ts';

/** Takes note of what an event means for the next step, before code of the user's sees it; undefined for what is no step. */
export function noteStep(context: InvocationContext, event: Event, ends: boolean | undefined): void {
  // The process that commits a held step's event does not know the original.
  const { author } = event;
  if (context.held && ends !== undefined) setStepMark(event, { ends, by: author });
  context.noteMade(event, { author, ends, gist: gist(event) });
}

/** Marks an event that code of the user's has changed since its agent yielded it, before it is committed. */
export function markIfChanged(context: InvocationContext, event: Event): void {
  const made = context.madeAs(event.id);
  if (made?.ends === undefined || made.gist === gist(event)) return;
  setStepMark(event, { ends: made.ends, by: made.author });
}

/** Is it in the log, and other than it was as far as steps are concerned? */
export function changedSince(event: Event, logged: Event | undefined): boolean {
  return logged !== undefined && gist(event) !== gist(logged);
}

function gist({ author, content, actions, errorCode, longRunningToolIds }: Event): string {
  const { transferToAgent, skipSummarization } = actions;
  return JSON.stringify([
    author,
    content?.parts,
    transferToAgent,
    skipSummarization,
    errorCode,
    longRunningToolIds,
  ]);
}
