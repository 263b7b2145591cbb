import { getFunctionCalls, getFunctionResponses } from '@agentmesh/agent';
import { questionNames } from '@agentmesh/agent/internal';
import { type AttemptMark, attemptOf, type Event, replicaKey } from '@agentmesh/protocol';

/** A part of an invocation, in the form of a bar. Times are in ms since 1970. */
export interface Bar {
  id: string;
  /** The bar that contains this one; absent for the invocation. */
  parent?: string;
  /**
   * `queue`: a wait for the session; `takeover`: the time between the last event of an attempt and the begin of the
   * next one.
   */
  kind: 'invocation' | 'agent' | 'model' | 'tool' | 'wait' | 'queue' | 'attempt' | 'takeover';
  name: string;
  from: number;
  /** Absent while it goes on, and for a call that has no result. */
  to?: number;
  /** The processes that made the events, in order: more than one after a takeover. */
  replicas: string[];
  tokens?: { input: number; output: number };
  /** The message of a failure. */
  error?: string;
  /** The words of a question to a person: the hint of its tool, or its message. */
  asks?: string;
  /** The arguments of a call, and its result or a model's answer, as text that may be cut. */
  input?: string;
  output?: string;
}

/** The events of an invocation in one session. */
export interface Part {
  /** The bar that contains the part. */
  parent: string;
  events: readonly Event[];
  /** True while the invocation goes on. */
  isOpen: boolean;
  /** Events of later invocations, which may answer calls of this one. */
  later?: readonly Event[];
}

/** The longest text of an input or an output, in characters. */
const mostText = 2_000;

/**
 * Returns the bars of a part: one for each agent, in it its model calls and calls of tools. The log holds the ends of
 * steps: the begin of a step is the event before it on the same branch.
 */
export function barsOf({ parent, events, isOpen, later = [] }: Part): Bar[] {
  const steps = events.map((event, at) => ({ event, from: beginOf(events, at) }));
  const ofAgents = steps.filter(({ event: { author } }) => author !== undefined && author !== 'user');
  const responses = new Map(
    [...events, ...later].flatMap((event) =>
      getFunctionResponses(event).map((response) => [response.id ?? '', { event, response }] as const),
    ),
  );
  const agents = Map.groupBy(ofAgents, ({ event: { author, branch = '' } }) => `${branch}/${author}`);
  const last = events.at(-1);
  const bars = [...agents].flatMap(([key, work]) => {
    const id = `${parent}/${key}`;
    const [first] = work;
    const end = work.at(-1)?.event;
    const failed = work.find(({ event }) => event.errorCode !== undefined)?.event;
    const goesOn = isOpen && end === last && end?.content !== undefined;
    const agent: Bar = {
      ...{ id, parent, kind: 'agent', name: first?.event.author ?? '', from: first?.from ?? 0 },
      ...(!goesOn && end && { to: end.timestamp }),
      replicas: replicasOf(work.map(({ event }) => event)),
      ...(failed && { error: failed.errorMessage ?? failed.errorCode ?? 'failed' }),
    };
    const inner = work.flatMap(({ event, from }) => [
      ...modelBars(event, from, id),
      ...callBars(event, id, responses),
    ]);
    return [agent, ...inner];
  });
  return [...attemptBars({ parent, events, isOpen }), ...bars];
}

/**
 * Returns the bars of the waits for the session, of the attempts when there was more than one, and of the time that was
 * lost between two. An attempt that committed nothing has no bar.
 */
function attemptBars({ parent, events, isOpen }: Part): Bar[] {
  const begins = events.flatMap((event, at) => {
    const mark = attemptOf(event);
    return mark ? [{ mark, at, event }] : [];
  });
  return begins.flatMap(({ mark, at, event }, order) => {
    const { number, began, waitsSince } = mark;
    const id = `${parent}/attempt ${event.id}`;
    const next = begins[order + 1];
    const bars: Bar[] = [];
    if (waitsSince !== undefined)
      bars.push({
        ...{ id: `${id}/queue`, parent, kind: 'queue', name: 'wait for the session' },
        ...{ from: Math.min(waitsSince, began), to: began, replicas: [] },
      });
    const replicas = replicasOf(events.slice(at, next?.at));
    if (number > 1) {
      const begin = begins[order - 1]?.at;
      bars.push(...takeoverBars(id, { parent, events: eventsBefore(events, at, begin) }, mark, replicas[0]));
    }
    if (number === 1 && next?.mark.number !== 2) return bars;
    const last = events.slice(at, next?.at).at(-1);
    bars.push({
      ...{ id, parent, kind: 'attempt', name: `attempt ${number}`, from: began, replicas },
      ...(!(isOpen && !next) && last && { to: Math.max(last.timestamp, began) }),
    });
    return bars;
  });
}

/** Returns the events of the attempt before a position: from its mark on, or from the message that began the run. */
function eventsBefore(events: readonly Event[], at: number, begin: number | undefined): readonly Event[] {
  const message = events.slice(0, at).findLastIndex(({ author }) => author === 'user');
  return events.slice(Math.max(begin ?? 0, message, 0), at);
}

/** Returns the bar of the time that a takeover lost, and one for the attempt before it when that has no mark. */
function takeoverBars(
  id: string,
  { parent, events }: Omit<Part, 'isOpen'>,
  { number, began }: AttemptMark,
  replica = 'a replica',
): Bar[] {
  const [first, last] = [events[0], events.at(-1)];
  if (!first || !last) return [];
  const replicas = replicasOf(events);
  const isMarked = events.some((event) => attemptOf(event) !== undefined);
  const earlier: Bar = {
    ...{ id: `${id}/before`, parent, kind: 'attempt', name: number === 2 ? 'attempt 1' : 'earlier attempts' },
    ...{ from: first.timestamp, to: last.timestamp, replicas },
  };
  return [
    ...(isMarked || replicas.length === 0 ? [] : [earlier]),
    {
      ...{ id: `${id}/takeover`, parent, kind: 'takeover', name: `takeover by ${replica}` },
      ...{ from: Math.min(last.timestamp, began), to: began, replicas: [...replicas.slice(-1), replica] },
    },
  ];
}

/** Tells whether calls of events have no response among them: a later invocation may have answered them. */
export function hasOpenCalls(events: readonly Event[]): boolean {
  const answered = new Set(events.flatMap(getFunctionResponses).map(({ id }) => id));
  return events.flatMap(getFunctionCalls).some(({ id }) => !answered.has(id));
}

/** Returns the processes that made events, each time another one went on. */
export function replicasOf(events: readonly Event[]): string[] {
  const replicas = events.flatMap(({ customMetadata }) => {
    const replica = customMetadata?.[replicaKey];
    return typeof replica === 'string' ? [replica] : [];
  });
  return replicas.filter((replica, at) => replica !== replicas[at - 1]);
}

/** Returns the tokens of events; undefined without any. */
export function tokensIn(events: readonly Event[]): { input: number; output: number } | undefined {
  const usages = events.flatMap(({ usageMetadata }) => usageMetadata ?? []);
  if (usages.length === 0) return undefined;
  const sum = (numbers: (number | undefined)[]) =>
    numbers.reduce<number>((total, each) => total + (each ?? 0), 0);
  return {
    input: sum(usages.map(({ promptTokenCount }) => promptTokenCount)),
    output: sum(
      usages.flatMap(({ candidatesTokenCount, thoughtsTokenCount }) => [
        candidatesTokenCount,
        thoughtsTokenCount,
      ]),
    ),
  };
}

function beginOf(events: readonly Event[], at: number): number {
  const event = events[at];
  const { branch = '', timestamp = 0 } = event ?? {};
  const before = events
    .slice(0, at)
    .findLast(
      (each) => branch === (each.branch ?? '') || branch.startsWith(`${each.branch ?? ''}.`) || !each.branch,
    );
  return Math.min(before?.timestamp ?? timestamp, timestamp);
}

/** Returns the bar of the model call that an event ends, if a model made the event. */
function modelBars(event: Event, from: number, parent: string): Bar[] {
  const { usageMetadata, modelVersion, finishReason, content, timestamp, errorMessage } = event;
  if (!usageMetadata && modelVersion === undefined && finishReason === undefined) return [];
  const tokens = tokensIn([event]);
  const text = content?.parts?.map(
    ({ text, functionCall: call }) => text ?? (call ? `→ ${nameOf(call)}` : ''),
  );
  return [
    {
      ...{ id: `${parent}/model ${event.id}`, parent, kind: 'model', name: modelVersion ?? 'model' },
      ...{ from, to: timestamp, replicas: replicasOf([event]) },
      ...(tokens && { tokens }),
      ...(errorMessage !== undefined && { error: errorMessage }),
      ...(text && { output: cut(text.filter(Boolean).join('\n')) }),
    },
  ];
}

type Responses = ReadonlyMap<
  string,
  { event: Event; response: { response?: Record<string, unknown> | undefined } }
>;

/** Returns the bars of the calls of an event, up to their last results. */
function callBars(event: Event, parent: string, responses: Responses): Bar[] {
  return getFunctionCalls(event).map((call) => {
    const { id = '', name = '', args } = call;
    const answer = responses.get(id);
    const isLong = event.longRunningToolIds?.includes(id) ?? false;
    const waits = isQuestion(name) || (isLong && answer?.event.author === 'user');
    const failure = answer?.response.response?.error;
    const asks = isQuestion(name) ? wordsOf(args) : undefined;
    return {
      ...{ id: callBarId(parent, id), parent, kind: waits ? 'wait' : 'tool', name: nameOf(call) },
      from: event.timestamp,
      ...(asks !== undefined && { asks: cut(asks) }),
      ...(answer && { to: answer.event.timestamp }),
      replicas: replicasOf([event]),
      ...(failure !== undefined && {
        error: cut(typeof failure === 'string' ? failure : JSON.stringify(failure)),
      }),
      input: cut(JSON.stringify(args ?? {})),
      ...(answer && { output: cut(JSON.stringify(answer.response.response ?? {})) }),
    } satisfies Bar;
  });
}

interface QuestionArgs {
  originalFunctionCall?: { name?: unknown };
  toolConfirmation?: { hint?: unknown };
  message?: unknown;
}

/** Returns the name of a call. That of a question is reserved and says nothing to people: they read the tool of it. */
function nameOf({ name = '', args }: ReturnType<typeof getFunctionCalls>[number]): string {
  const tool = ((args ?? {}) as QuestionArgs).originalFunctionCall?.name;
  const of = (words: string, link: string) => (typeof tool === 'string' ? `${words} ${link} ${tool}` : words);
  if (name === questionNames.confirmation) return of('confirmation', 'of');
  if (name === questionNames.credential) return of('sign-in', 'for');
  return name === questionNames.input ? of('input', 'for') : name;
}

/** Returns the words of a question, unless they are the usual hint, which says how programs answer. */
function wordsOf(args: Record<string, unknown> | undefined): string | undefined {
  const { toolConfirmation, message } = (args ?? {}) as QuestionArgs;
  const words = toolConfirmation?.hint ?? message;
  return typeof words === 'string' && !words.includes('{"confirmed": true}') ? words : undefined;
}

function isQuestion(name: string): boolean {
  return Object.values<string>(questionNames).includes(name);
}

/** Returns the id of the bar of a call. */
function callBarId(parent: string, callId: string): string {
  return `${parent}/call ${callId}`;
}

/** Returns the id of the call of a bar; undefined for another bar. */
export function callOfBar({ id }: Bar): string | undefined {
  return /\/call ([^/]*)$/.exec(id)?.[1];
}

function cut(text: string): string {
  return text.length <= mostText ? text : `${text.slice(0, mostText)}…`;
}
