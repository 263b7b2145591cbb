import { type Event, stepKey } from '@agentmesh/protocol';
import type { Content, ExecutableCode } from '@google/genai';
import { z } from 'zod';
import { getFunctionCalls, getFunctionResponses, isFinalResponse } from '../events/event.ts';
import { hasTrailingCodeExecutionResult } from '../events/event-queries.ts';

/**
 * A note on what an event means for the next step of its agent. The note is needed when user code may have
 * changed or made the event, because then the content of the event does not tell. The note is in
 * `customMetadata`, so a process that continues from the log decides as the first process did.
 */
const stepMarkSchema = z.object({
  /**
   * True when the agent's turn ended with this event, false when it continued. Absent when the content tells.
   */
  ends: z.boolean().optional(),
  /** The agent that made the event; user code may yield it under another name. */
  by: z.string().optional(),
  /** Number of the flow's run within the turn that made the event, from 1; absent for the first. */
  run: z.number().int().optional(),
  /** True when user code in a subclass of the agent made the event: it is not a step of the flow. */
  isOwnCode: z.boolean().optional(),
  /** Names of called tools that the request did not offer: a callback or a tool had removed them. */
  withheld: z.array(z.string()).optional(),
});
export type StepMark = z.infer<typeof stepMarkSchema>;

export function stepMarkOf({ customMetadata }: Event): StepMark | undefined {
  const mark = customMetadata?.[stepKey];
  return mark === undefined ? undefined : stepMarkSchema.safeParse(mark).data;
}

export function setStepMark(event: Event, mark: StepMark): void {
  event.customMetadata = { ...event.customMetadata, [stepKey]: { ...stepMarkOf(event), ...mark } };
}

/** Returns the agent whose step the event is. */
export function stepAuthor(event: Event): string | undefined {
  return stepMarkOf(event)?.by ?? event.author;
}

/** Tells whether an event is a step. An event with only state changes or a summary is not. */
export function isStep(event: Event): boolean {
  const { content, errorCode, actions } = event;
  return (
    stepMarkOf(event)?.ends !== undefined ||
    (content?.parts?.length ?? 0) > 0 ||
    errorCode !== undefined ||
    actions.transferToAgent !== undefined
  );
}

/** Tells whether the event only reports the progress of tools that are still at work. */
export function isProgress(event: Event): boolean {
  const responses = getFunctionResponses(event);
  return responses.length > 0 && responses.every(({ willContinue }) => willContinue === true);
}

/** The parts of an agent that concern running the code of its model. */
export interface CodingAgent {
  readonly codeExecutor: { readonly isBuiltIn: boolean } | undefined;
}

/** Tells whether the agent has to run the code of this event, its last one so far. */
export function hasOpenCode({ codeExecutor }: CodingAgent, { content }: Event): boolean {
  return codeExecutor?.isBuiltIn === false && trailingCode(content) !== undefined;
}

/** Tells whether the agent's turn is over after this event of its own. */
export function endsTurn(agent: CodingAgent, event: Event): boolean {
  const { ends } = stepMarkOf(event) ?? {};
  if (ends !== undefined) return ends;
  if (getFunctionCalls(event).length > 0) return false;
  if (getFunctionResponses(event).length > 0) return isFinalResponse(event);
  return !hasOpenCode(agent, event) && !hasTrailingCodeExecutionResult(event);
}

/** Returns the code of an event that has no result yet: its last part. */
export function trailingCode({ parts = [] }: Content = {}): ExecutableCode | undefined {
  return parts.at(-1)?.executableCode;
}
