import type { Event } from '@agentmesh/protocol';
import type { Content, Part } from '@google/genai';
import { isOnBranch } from '../events/agent-path.ts';
import { copyJson } from '../events/copy-json.ts';
import { functionCallIdPrefix } from '../events/event.ts';
import { logIndex } from '../events/log-index.ts';
import { type ShownEvent, shownEvent, withParts } from './shown-event.ts';

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
  const see = (event: Event) => (isOnBranch(event.branch, branch) ? shownEvent(event) : undefined);
  const from = include === 'none' ? startOfTurn(request, see) : 0;
  const visible: ShownEvent[] = [];
  for (const event of from === 0 ? events : events.slice(from)) {
    const shown = see(event);
    if (shown) visible.push(isFromOther(shown.event, agentName) ? retell(shown) : shown);
  }
  const contents = pairCalls(visible, invocationId);
  return summary === undefined ? contents : [summaryContent(summary), ...contents];
}

function summaryContent(summary: string): Content {
  return { role: 'user', parts: [{ text: `Summary of the conversation before:\n${summary}` }] };
}

/**
 * Finds the start of the turn: the last event of another author, or the call that an answer in it belongs to.
 * The search begins at the end, as the log may be long.
 */
function startOfTurn(
  { events, agentName, invocationId }: ContentsRequest,
  see: (event: Event) => ShownEvent | undefined,
): number {
  const lastOther = events.findLastIndex((event) => {
    const shown = see(event);
    return (
      shown && (isFromOther(event, agentName) || (event.author === 'user' && shown.responses.length === 0))
    );
  });
  const start = Math.max(lastOther, 0);
  const ofInvocation = events.slice(start).filter((event) => event.invocationId === invocationId);
  const answered = ofInvocation.flatMap((event) => see(event)?.responses ?? []);
  const index = logIndex(events);
  const callEvent = index.firstCallOf(
    answered.map(({ id }) => id),
    (event) => see(event) !== undefined,
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
function retell({ event, parts }: ShownEvent): ShownEvent {
  const author = event.author ?? '';
  const told = parts.filter(({ thought }) => !thought).map((part) => retellPart(author, part));
  const content = { role: 'user', parts: [{ text: 'For context:' }, ...told] };
  return withParts({ ...event, author: 'user', content }, content.parts);
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
function pairCalls(events: readonly ShownEvent[], invocationId: string): Content[] {
  const answers = new Map<string, Part>();
  for (const { parts, responses } of events) {
    if (responses.length === 0) continue;
    for (const part of parts) if (part.functionResponse?.id) answers.set(part.functionResponse.id, part);
  }
  const paired: Content[] = [];
  for (const shown of withoutInterlude(events, invocationId)) {
    const { event, parts, calls, responses } = shown;
    if (calls.length > 0) addCalls(paired, shown, answers);
    else if (responses.length === 0) addContent(paired, event.content, parts);
    else {
      const others = parts.filter(({ functionResponse }) => !functionResponse);
      addContent(paired, event.content, others);
    }
  }
  return paired;
}

function withoutInterlude(events: readonly ShownEvent[], invocationId: string): readonly ShownEvent[] {
  // The progress of calls of other invocations may come at any time, and is not what this invocation goes on
  // with.
  const at = events.findLastIndex(({ event }) => event.invocationId === invocationId);
  const newest = events[at];
  if (!newest || newest.responses.length === 0) return events;
  const answered = newest.responses.map(({ id }) => id);
  const call = events.findLastIndex(({ calls }) => calls.some(({ id }) => answered.includes(id)));
  if (call === -1) return events;
  // The user's messages of this invocation stay: an answer from an earlier message may take effect only now.
  const messages = events
    .slice(call + 1, at)
    .filter(({ event }) => event.author === 'user' && event.invocationId === invocationId);
  return [...events.slice(0, call + 1), ...messages, newest];
}

/** Adds the calls of an event that have an answer, with the event's other parts, and the answers. */
function addCalls(
  contents: Content[],
  { event, parts, calls }: ShownEvent,
  answers: ReadonlyMap<string, Part>,
): void {
  const given = calls.flatMap(({ id }) => answers.get(id ?? '') ?? []);
  const isAnswered = ({ functionCall }: Part) => !functionCall || answers.has(functionCall.id ?? '');
  addContent(contents, event.content, given.length === calls.length ? parts : parts.filter(isAnswered));
  addContent(contents, { role: 'user' }, given);
}

/** Adds copies of the parts, if there are any: callbacks may change the request, and the log must not change. */
function addContent(contents: Content[], of: Content | undefined, parts: readonly Part[]): void {
  if (parts.length > 0) contents.push({ ...of, parts: parts.map(copyPart) });
}

/**
 * Copies a part without the ids that the framework made and the field `willContinue`, which mean nothing to the
 * model.
 */
function copyPart(part: Part): Part {
  const copy = copyJson(part);
  if (copy.functionCall) copy.functionCall = withoutOurId(copy.functionCall);
  if (copy.functionResponse) {
    const { willContinue: _willContinue, ...response } = copy.functionResponse;
    copy.functionResponse = withoutOurId(response);
  }
  return copy;
}

function withoutOurId<T extends { id?: string }>(named: T): T {
  if (!named.id?.startsWith(functionCallIdPrefix)) return named;
  const { id: _id, ...rest } = named;
  return rest as T;
}
