import type { Event } from '@agentmesh/protocol';
import type { FunctionCall, FunctionResponse, Part } from '@google/genai';
import { isQuestionName } from '../events/question.ts';

/** An event as prompts show it: without the framework's questions to people and their answers. */
export interface ShownEvent {
  readonly event: Event;
  readonly parts: readonly Part[];
  readonly calls: readonly FunctionCall[];
  readonly responses: readonly FunctionResponse[];
}

const none: readonly never[] = [];
/** A prompt shows the same past in each step of each turn. */
const known = new WeakMap<Event, ShownEvent | null>();

/**
 * Returns what a prompt shows of an event; undefined if it shows nothing. The answer is remembered: the content of
 * a committed event does not change.
 */
export function shownEvent(event: Event): ShownEvent | undefined {
  let shown = known.get(event);
  if (shown === undefined) {
    shown = isShown(event) ? withoutQuestions(event) : null;
    // The event may still grow.
    if (!event.partial) known.set(event, shown);
  }
  return shown ?? undefined;
}

/** Returns an event with some of its parts, or with others in their place. */
export function withParts(event: Event, parts: readonly Part[]): ShownEvent {
  const calls = parts.flatMap(({ functionCall }) => functionCall ?? []);
  const responses = parts.flatMap(({ functionResponse }) => functionResponse ?? []);
  // Most events have neither, and each is kept as long as its session.
  return {
    ...{ event, parts },
    ...{ calls: calls.length > 0 ? calls : none, responses: responses.length > 0 ? responses : none },
  };
}

function withoutQuestions(event: Event): ShownEvent | null {
  const parts = event.content?.parts ?? [];
  if (!parts.some(isQuestion)) return withParts(event, parts);
  const rest = parts.filter((part) => !isQuestion(part));
  return hasContent(rest) ? withParts(event, rest) : null;
}

function isShown({ content, partial }: Event): boolean {
  return !partial && Boolean(content?.role) && hasContent(content?.parts ?? []);
}

function hasContent(parts: readonly Part[]): boolean {
  return !parts.every(({ text }) => text === '');
}

function isQuestion({ functionCall, functionResponse }: Part): boolean {
  return isQuestionName(functionCall?.name ?? functionResponse?.name);
}
