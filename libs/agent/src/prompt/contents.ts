import type { Event } from '@agentmesh/protocol';
import type { Content, Part } from '@google/genai';
import { isOnBranch } from '../events/agent-path.ts';
import { copyJson } from '../events/copy-json.ts';
import { functionCallIdPrefix, getFunctionCalls, getFunctionResponses } from '../events/event.ts';
import { logIndex } from '../events/log-index.ts';
import { isQuestionName } from '../events/question.ts';

export interface ContentsRequest {
  /** Summary of the conversation before the events. */
  summary?: string;
  events: readonly Event[];
  /** The invocation for which the model is asked. */
  invocationId: string;
  agentName: string;
  branch: string | undefined;
  /** `none`: only the current turn, from the last event of another author. */
  include: 'default' | 'none';
}

/** Makes the model's view of the conversation from the events that this agent may see. */
export function buildContents(request: ContentsRequest): Content[] {
  const { summary, events, invocationId, agentName, branch, include } = request;
  const see = (event: Event): Event[] => {
    if (!isOnBranch(event.branch, branch)) return [];
    const shownEvent = withoutQuestions(event);
    return isShown(shownEvent) ? [shownEvent] : [];
  };
  const turn = include === 'none' ? events.slice(startOfTurn(request, see)) : events;
  const visible = turn.flatMap(see).map((event) => (isFromOther(event, agentName) ? retell(event) : event));
  // Callbacks may change the request; the log must not change.
  const contents = pairCalls(visible, invocationId).flatMap(({ content }) =>
    content ? [withoutOurIds(copyJson(content))] : [],
  );
  return summary === undefined ? contents : [summaryContent(summary), ...contents];
}

function summaryContent(summary: string): Content {
  return { role: 'user', parts: [{ text: `Summary of the conversation before:\n${summary}` }] };
}

function isShown({ content, partial }: Event): boolean {
  const parts = content?.parts ?? [];
  if (partial || !content?.role || parts.length === 0) return false;
  return !parts.every((part) => part.text === '');
}

/** Removes the framework's questions to people and their answers: they are not part of the conversation. */
function withoutQuestions(event: Event): Event {
  const isQuestion = ({ functionCall, functionResponse }: Part) =>
    isQuestionName(functionCall?.name ?? functionResponse?.name);
  return event.content?.parts?.some(isQuestion) ? withParts(event, (part) => !isQuestion(part)) : event;
}

/**
 * Finds the start of the turn: the last event of another author, or the call that an answer in it belongs to.
 * The search begins at the end, as the log may be long.
 */
function startOfTurn(
  { events, agentName, invocationId }: ContentsRequest,
  see: (event: Event) => Event[],
): number {
  const lastOther = events.findLastIndex((each) =>
    see(each).some(
      (event) =>
        isFromOther(event, agentName) ||
        (event.author === 'user' && getFunctionResponses(event).length === 0),
    ),
  );
  const start = Math.max(lastOther, 0);
  const ofInvocation = events.slice(start).filter((event) => event.invocationId === invocationId);
  const answered = ofInvocation.flatMap(see).flatMap(getFunctionResponses);
  const index = logIndex(events);
  const callEvent = index.firstCallOf(
    answered.map(({ id }) => id),
    (event) => see(event).length > 0,
  );
  return callEvent ? Math.min(start, index.positionOf(callEvent.id) ?? start) : start;
}

function isFromOther({ author }: Event, agentName: string): boolean {
  return author !== undefined && author !== 'user' && author !== agentName;
}

/**
 * Retells the event of another agent as context, because it must not look like this agent's own words or
 * calls.
 */
function retell(event: Event): Event {
  const author = event.author ?? '';
  const parts = (event.content?.parts ?? [])
    .filter(({ thought }) => !thought)
    .map((part) => retellPart(author, part));
  const content = { role: 'user', parts: [{ text: 'For context:' }, ...parts] };
  return { ...event, author: 'user', content };
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
 * Moves each response directly behind its call, as models demand. Of several responses to a call only the
 * last response is kept. When the newest event of the invocation answers an older call, the events in between
 * are left out of the prompt. A call without a response is left out too, because no model accepts one.
 */
function pairCalls(events: readonly Event[], invocationId: string): Event[] {
  const responses = new Map<string, Part>();
  for (const event of events) {
    for (const part of event.content?.parts ?? []) {
      if (part.functionResponse?.id) responses.set(part.functionResponse.id, part);
    }
  }
  const paired: Event[] = [];
  for (const event of withoutInterlude(events, invocationId)) {
    const calls = getFunctionCalls(event);
    if (calls.length > 0) paired.push(...callWithResponses(event, responses));
    else if (getFunctionResponses(event).length === 0) paired.push(event);
    else if (hasOtherParts(event)) paired.push(withParts(event, (part) => !part.functionResponse));
  }
  return paired;
}

function withoutInterlude(events: readonly Event[], invocationId: string): readonly Event[] {
  // The progress of calls of other invocations may come at any time, and is not what this invocation goes on
  // with.
  const at = events.findLastIndex((event) => event.invocationId === invocationId);
  const newest = events[at];
  const answered = newest ? getFunctionResponses(newest).map(({ id }) => id) : [];
  if (!newest || answered.length === 0) return events;
  const call = events.findLastIndex((event) =>
    getFunctionCalls(event).some(({ id }) => answered.includes(id)),
  );
  if (call === -1) return events;
  // The user's messages of this invocation stay: an answer from an earlier message may take effect only now.
  const messages = events
    .slice(call + 1, at)
    .filter((event) => event.author === 'user' && event.invocationId === invocationId);
  return [...events.slice(0, call + 1), ...messages, newest];
}

function callWithResponses(event: Event, responses: ReadonlyMap<string, Part>): Event[] {
  const answers = getFunctionCalls(event).flatMap(({ id }) => responses.get(id ?? '') ?? []);
  const answeredIds = new Set(answers.map(({ functionResponse }) => functionResponse?.id));
  const withAnswered = withParts(
    event,
    ({ functionCall }) => !functionCall || answeredIds.has(functionCall.id),
  );
  const callEvents = (withAnswered.content?.parts?.length ?? 0) > 0 ? [withAnswered] : [];
  if (answers.length === 0) return callEvents;
  return [...callEvents, { ...event, author: 'user', content: { role: 'user', parts: answers } }];
}

function hasOtherParts(event: Event): boolean {
  return (event.content?.parts ?? []).some(({ functionResponse }) => !functionResponse);
}

function withParts(event: Event, keep: (part: Part) => boolean): Event {
  return { ...event, content: { ...event.content, parts: (event.content?.parts ?? []).filter(keep) } };
}

/**
 * Removes the ids that the framework made and the field `willContinue`, which mean nothing to the model, from a
 * content.
 */
function withoutOurIds(content: Content): Content {
  for (const part of content.parts ?? []) {
    const { functionCall, functionResponse } = part;
    if (functionCall) part.functionCall = withoutOurId(functionCall);
    if (functionResponse) {
      const { willContinue: _willContinue, ...response } = functionResponse;
      part.functionResponse = withoutOurId(response);
    }
  }
  return content;
}

function withoutOurId<T extends { id?: string }>(of: T): T {
  if (!of.id?.startsWith(functionCallIdPrefix)) return of;
  const { id: _id, ...rest } = of;
  return rest as T;
}
