import { type Event, stepKey } from '@agentmesh/protocol';
import type { Content, ExecutableCode } from '@google/genai';
import { z } from 'zod';
import { getFunctionCalls, getFunctionResponses, isFinalResponse } from '../events/event.ts';
import { hasTrailingCodeExecutionResult } from '../events/event-queries.ts';

/**
 * Notes what an event means for the next step of its agent, where the event's content may not tell: code of the user's may have changed it, or made it.
 * Kept in `customMetadata`, so that a process which goes on from the log decides as the first one did.
 */
const stepMarkSchema = z.object({
  /** The agent's turn ended with this event; `false`: it went on. Absent where the content tells. */
  ends: z.boolean().optional(),
  /** The agent that made it; code of the user's may tell it under another name. */
  by: z.string().optional(),
  /** Which run of the flow within the turn made it, from 1; absent for the first. */
  run: z.number().int().optional(),
  /** A subclass of the agent made it: it is no step of the flow. */
  isOwnCode: z.boolean().optional(),
});
export type StepMark = z.infer<typeof stepMarkSchema>;

export function stepMarkOf({ customMetadata }: Event): StepMark | undefined {
  const mark = customMetadata?.[stepKey];
  return mark === undefined ? undefined : stepMarkSchema.safeParse(mark).data;
}

export function setStepMark(event: Event, mark: StepMark): void {
  event.customMetadata = { ...event.customMetadata, [stepKey]: { ...stepMarkOf(event), ...mark } };
}

/** The agent whose step an event is. */
export function stepAuthor(event: Event): string | undefined {
  return stepMarkOf(event)?.by ?? event.author;
}

/** State changes and summaries alone are no step. */
export function isStep(event: Event): boolean {
  const { content, errorCode, actions } = event;
  return (
    stepMarkOf(event)?.ends !== undefined ||
    (content?.parts?.length ?? 0) > 0 ||
    errorCode !== undefined ||
    actions.transferToAgent !== undefined
  );
}

/** A tool that is still at work has told how far it is. */
export function isProgress(event: Event): boolean {
  const responses = getFunctionResponses(event);
  return responses.length > 0 && responses.every(({ willContinue }) => willContinue === true);
}

/** An agent, as far as running the code of its model is concerned. */
export interface CodingAgent {
  readonly codeExecutor: { readonly isBuiltIn: boolean } | undefined;
}

/** Does the agent have to run the code of this event, its last so far? */
export function hasOpenCode({ codeExecutor }: CodingAgent, { content }: Event): boolean {
  return codeExecutor?.isBuiltIn === false && trailingCode(content) !== undefined;
}

/** Is the agent's turn over after this event of its own? */
export function endsTurn(agent: CodingAgent, event: Event): boolean {
  const { ends } = stepMarkOf(event) ?? {};
  if (ends !== undefined) return ends;
  if (getFunctionCalls(event).length > 0) return false;
  if (getFunctionResponses(event).length > 0) return isFinalResponse(event);
  return !hasOpenCode(agent, event) && !hasTrailingCodeExecutionResult(event);
}

/** The code of an event that has no result yet: its last part. */
export function trailingCode({ parts = [] }: Content = {}): ExecutableCode | undefined {
  return parts.at(-1)?.executableCode;
}
