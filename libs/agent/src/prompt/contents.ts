import type { Event } from '@agentmesh/protocol';
import type { Content, Part } from '@google/genai';
import { isOnBranch } from '../events/agent-path.ts';
import { functionCallIdPrefix, getFunctionCalls, getFunctionResponses } from '../events/event.ts';
import { logIndex } from '../events/log-index.ts';
import { isQuestionName } from '../events/question.ts';

export interface ContentsRequest {
  /** What was said before the events, in few words. */
  summary?: string;
  events: readonly Event[];
  agentName: string;
  branch: string | undefined;
  /** `none`: only the current turn, from the last thing that somebody else said. */
  include: 'default' | 'none';
}

/** What a model is shown of the conversation: the events that this agent may see, as it would remember them. */
export function buildContents({ summary, events, agentName, branch, include }: ContentsRequest): Content[] {
  const see = (event: Event): Event[] => {
    if (!isOnBranch(event.branch, branch)) return [];
    const seen = withoutQuestions(event);
    return isShown(seen) ? [seen] : [];
  };
  const turn = include === 'none' ? events.slice(startOfTurn(events, agentName, see)) : events;
  const own = turn.flatMap(see).map((event) => (isFromOther(event, agentName) ? retell(event) : event));
  const said = pairCalls(own).flatMap(({ content }) => (content ? [copyOf(withoutOurIds(content))] : []));
  return summary === undefined ? said : [toldBefore(summary), ...said];
}

function toldBefore(summary: string): Content {
  return { role: 'user', parts: [{ text: `Summary of the conversation before:\n${summary}` }] };
}

/** Callbacks may change what they are shown; the log stays as it is. */
function copyOf<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copyOf) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, copyOf(each)])) as T;
}

function isShown({ content, partial }: Event): boolean {
  const parts = content?.parts ?? [];
  if (partial || !content?.role || parts.length === 0) return false;
  return !parts.every((part) => part.text === '');
}

/** What the framework asks people, and what they answer, is no part of what was said. */
function withoutQuestions(event: Event): Event {
  const isQuestion = ({ functionCall, functionResponse }: Part) =>
    isQuestionName(functionCall?.name ?? functionResponse?.name);
  return event.content?.parts?.some(isQuestion) ? withParts(event, (part) => !isQuestion(part)) : event;
}

/**
 * Where the turn begins: with the last thing that somebody else said, or with the call that an answer in it belongs to. Looked for from the end, as
 * the log may be long.
 */
function startOfTurn(events: readonly Event[], agentName: string, see: (event: Event) => Event[]): number {
  const said = events.findLastIndex((each) =>
    see(each).some(
      (event) =>
        isFromOther(event, agentName) ||
        (event.author === 'user' && getFunctionResponses(event).length === 0),
    ),
  );
  const start = Math.max(said, 0);
  const answered = events.slice(start).flatMap(see).flatMap(getFunctionResponses);
  const index = logIndex(events);
  const asked = index.firstCallOf(
    answered.map(({ id }) => id),
    (event) => see(event).length > 0,
  );
  return asked ? Math.min(start, index.positionOf(asked.id) ?? start) : start;
}

function isFromOther({ author }: Event, agentName: string): boolean {
  return author !== undefined && author !== 'user' && author !== agentName;
}

/** What another agent said or did, told as context: it must not look like this agent's own words or calls. */
function retell(event: Event): Event {
  const author = event.author ?? '';
  const told = (event.content?.parts ?? [])
    .filter(({ thought }) => !thought)
    .map((part) => retellPart(author, part));
  return { ...event, author: 'user', content: { role: 'user', parts: [{ text: 'For context:' }, ...told] } };
}

function retellPart(author: string, part: Part): Part {
  const { text, functionCall: call, functionResponse: response } = part;
  if (text !== undefined) return { text: `[${author}] said: ${text}` };
  if (call)
    return { text: `[${author}] called tool \`${call.name}\` with parameters: ${JSON.stringify(call.args)}` };
  if (response) {
    return {
      text: `[${author}] tool \`${response.name}\` returned result: ${JSON.stringify(response.response)}`,
    };
  }
  return part;
}

/**
 * Puts each call's response right behind it, as models demand, and keeps only the last response of a call that was answered more
 * than once. Where the newest event answers an older call, what was said in between is left out of this prompt.
 * A call that nobody has answered is left out too: no model accepts one.
 */
function pairCalls(events: readonly Event[]): Event[] {
  const responses = new Map<string, Part>();
  for (const event of events) {
    for (const part of event.content?.parts ?? []) {
      if (part.functionResponse?.id) responses.set(part.functionResponse.id, part);
    }
  }
  const paired: Event[] = [];
  for (const event of withoutInterlude(events)) {
    const calls = getFunctionCalls(event);
    if (calls.length > 0) paired.push(...callWithResponses(event, responses));
    else if (getFunctionResponses(event).length === 0) paired.push(event);
    else if (hasOtherParts(event)) paired.push(withParts(event, (part) => !part.functionResponse));
  }
  return paired;
}

function withoutInterlude(events: readonly Event[]): readonly Event[] {
  const newest = events.at(-1);
  const answered = newest ? getFunctionResponses(newest).map(({ id }) => id) : [];
  if (answered.length === 0) return events;
  const call = events.findLastIndex((event) =>
    getFunctionCalls(event).some(({ id }) => answered.includes(id)),
  );
  if (call === -1) return events;
  // What the user said to this invocation stays: an answer given in an earlier one may come to work only now.
  const said = events
    .slice(call + 1, -1)
    .filter(({ author, invocationId }) => author === 'user' && invocationId === newest?.invocationId);
  return [...events.slice(0, call + 1), ...said, ...events.slice(-1)];
}

function callWithResponses(event: Event, responses: ReadonlyMap<string, Part>): Event[] {
  const answers = getFunctionCalls(event).flatMap(({ id }) => responses.get(id ?? '') ?? []);
  const answeredIds = new Set(answers.map(({ functionResponse }) => functionResponse?.id));
  const asked = withParts(event, ({ functionCall }) => !functionCall || answeredIds.has(functionCall.id));
  const shown = (asked.content?.parts?.length ?? 0) > 0 ? [asked] : [];
  if (answers.length === 0) return shown;
  return [...shown, { ...event, author: 'user', content: { role: 'user', parts: answers } }];
}

function hasOtherParts(event: Event): boolean {
  return (event.content?.parts ?? []).some(({ functionResponse }) => !functionResponse);
}

function withParts(event: Event, keep: (part: Part) => boolean): Event {
  return { ...event, content: { ...event.content, parts: (event.content?.parts ?? []).filter(keep) } };
}

/** Ids that we made mean nothing to the model, nor does what we note about who has the last word. */
function withoutOurIds(content: Content): Content {
  const parts = (content.parts ?? []).map((part) => {
    const { functionCall, functionResponse } = part;
    if (functionCall) return { ...part, functionCall: withoutOurId(functionCall) };
    if (!functionResponse) return part;
    const { willContinue: _willContinue, ...response } = functionResponse;
    return { ...part, functionResponse: withoutOurId(response) };
  });
  return { ...content, parts };
}

function withoutOurId<T extends { id?: string }>(of: T): T {
  if (!of.id?.startsWith(functionCallIdPrefix)) return of;
  const { id: _id, ...rest } = of;
  return rest as T;
}
