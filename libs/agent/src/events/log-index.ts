import type { Event } from '@agentmesh/protocol';
import type { FunctionResponse } from '@google/genai';
import { getFunctionCalls, getFunctionResponses } from './event.ts';
import type { Question } from './question.ts';
import { QuestionIndex } from './question-index.ts';

/** A response to a call, and the event in which it came. */
export interface LoggedResponse {
  response: FunctionResponse;
  event: Event;
  /** Of the event, from 0. */
  position: number;
}

const none: readonly never[] = [];
const indexes = new WeakMap<readonly Event[], LogIndex>();
const unread = new WeakMap<readonly Event[], number>();

/** Notes of a list of events that so many of the session's lie before it. */
export function noteUnread(events: readonly Event[], count: number): void {
  if (unread.get(events) === count || (count === 0 && !unread.has(events))) return;
  unread.set(events, count);
  indexes.delete(events);
}

/**
 * The index of a log. It is made once for a list of events, to which events may only be added at the end, and takes in what was added since
 * it was last asked: its questions cost what they answer, however long the log is.
 */
export function logIndex(events: readonly Event[]): LogIndex {
  let index = indexes.get(events);
  if (!index?.fits(events)) {
    index = new LogIndex(events);
    indexes.set(events, index);
  }
  index.takeIn();
  return index;
}

/** Finds events by what they are about. See {@link logIndex}. */
export class LogIndex {
  readonly #events: readonly Event[];
  #size = 0;
  #last: Event | undefined;
  readonly #ids = new Map<string, number>();
  readonly #invocations = new Map<string, number[]>();
  readonly #authors = new Map<string, number[]>();
  readonly #calls = new Map<string, number[]>();
  readonly #responses = new Map<string, LoggedResponse[]>();
  /** Invocations that questions and answers tie to another. */
  readonly #ties = new Map<string, Set<string>>();
  readonly #questions = new QuestionIndex();
  readonly #compactions: Event[] = [];
  /** What was rewound: positions of the first and the last event of each part, in order, none within another. */
  readonly #hidden: [first: number, last: number][] = [];

  constructor(events: readonly Event[]) {
    this.#events = events;
  }

  /** Is it still the list that was indexed, perhaps with more at its end? */
  fits(events: readonly Event[]): boolean {
    return events.length >= this.#size && (this.#size === 0 || events[this.#size - 1] === this.#last);
  }

  takeIn(): void {
    for (; this.#size < this.#events.length; this.#size += 1) {
      const event = this.#events[this.#size];
      if (event) this.#add(event, this.#size);
      this.#last = event;
    }
  }

  /** Was anything rewound? */
  get hasHidden(): boolean {
    return this.#hidden.length > 0;
  }

  /** Was it rewound? Then it is in the log, and counts no more. */
  isHidden(position: number): boolean {
    let [low, high] = [0, this.#hidden.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#hidden[middle]?.[1] ?? 0) < position) low = middle + 1;
      else high = middle;
    }
    return (this.#hidden[low]?.[0] ?? Number.POSITIVE_INFINITY) <= position;
  }

  /** The events from a position on that were not rewound. */
  visible(from = 0): readonly Event[] {
    if (this.#hidden.length > 0) return this.#events.filter((_, at) => at >= from && !this.isHidden(at));
    return from === 0 ? this.#events : this.#events.slice(from);
  }

  /** The position of the event with that id, from 0. */
  positionOf(id: string): number | undefined {
    return this.#ids.get(id);
  }

  get(id: string): Event | undefined {
    return this.#at(this.#ids.get(id));
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** The events of some invocations from a position on, in order. */
  ofInvocations(invocations: Iterable<string>, from = 0): Event[] {
    const positions: number[] = [];
    for (const invocation of invocations) {
      for (const at of this.#invocations.get(invocation) ?? none) if (at >= from) positions.push(at);
    }
    positions.sort((a, b) => a - b);
    return positions.flatMap((at) => this.#events[at] ?? []);
  }

  ofInvocation(invocation: string): Event[] {
    return this.ofInvocations([invocation]);
  }

  /** The invocation, and all that questions and answers tie it to; and the position of the first event of them. */
  tiedTo(invocation: string): { invocations: Set<string>; start: number } {
    const invocations = new Set([invocation]);
    for (const each of invocations) for (const tied of this.#ties.get(each) ?? none) invocations.add(tied);
    const starts = [...invocations].map((each) => this.#invocations.get(each)?.[0] ?? this.#events.length);
    return { invocations, start: Math.min(...starts) };
  }

  /** Where this author spoke last; -1 for nowhere. */
  lastBy(author: string): number {
    return this.#authors.get(author)?.at(-1) ?? -1;
  }

  /** The events that make a call of this id, in order: one, but for ids that were used twice. */
  callsOf(callId: string | undefined): Event[] {
    if (callId === undefined) return [];
    return (this.#calls.get(callId) ?? none).flatMap((at) => this.#events[at] ?? []);
  }

  /** The event that made one of these calls last, among those that fit. */
  lastCallOf(callIds: Iterable<string | undefined>, fits?: (event: Event) => boolean): Event | undefined {
    return this.#eventsWithCalls(callIds, fits).at(-1);
  }

  /** As {@link lastCallOf}, the first of them. */
  firstCallOf(callIds: Iterable<string | undefined>, fits?: (event: Event) => boolean): Event | undefined {
    return this.#eventsWithCalls(callIds, fits)[0];
  }

  /** The responses to a call, in order. */
  responsesTo(callId: string | undefined): readonly LoggedResponse[] {
    return this.#responses.get(callId ?? '') ?? none;
  }

  question(id: string | undefined): Question | undefined {
    return this.#questions.get(id);
  }

  /** What a call asked, in order. */
  questionsOfCall(callId: string | undefined): readonly Question[] {
    return this.#questions.ofCall(callId);
  }

  /** What is asked in an event. */
  questionsIn(event: Event): Question[] {
    return getFunctionCalls(event).flatMap(({ id }) => {
      const question = this.question(id);
      return question?.event === event ? [question] : [];
    });
  }

  /** The questions without an answer, in order. */
  get openQuestions(): Iterable<Question> {
    return this.#questions.open;
  }

  /** Does a call wait for a person? */
  isWaiting(callId: string | undefined): boolean {
    const last = this.questionsOfCall(callId).at(-1);
    return last !== undefined && !last.answer;
  }

  /** The last summary among those that fit. */
  lastCompaction(fits: (event: Event) => boolean): Event | undefined {
    return this.#compactions.findLast(fits);
  }

  /** The last questions of calls that are answered, and the call was not made since. */
  get dueQuestions(): Iterable<Question> {
    return this.#questions.due;
  }

  #eventsWithCalls(callIds: Iterable<string | undefined>, fits: (event: Event) => boolean = () => true) {
    const positions = [...callIds].flatMap((id) => this.#calls.get(id ?? '') ?? []);
    const events = positions.sort((a, b) => a - b).flatMap((at) => this.#events[at] ?? []);
    return events.filter(fits);
  }

  #at(position: number | undefined): Event | undefined {
    return position === undefined ? undefined : this.#events[position];
  }

  #add(event: Event, at: number): void {
    if (!this.#ids.has(event.id)) this.#ids.set(event.id, at);
    const { rewindBeforeInvocationId: before } = event.actions;
    if (typeof before === 'string') this.#rewind(event, before, at);
    else this.#index(event, at);
  }

  /** Forgets what was rewound, but for the ids of its events: nothing is committed twice. Each event is forgotten once at most. */
  #rewind({ actions: { rewindFromSeq } }: Event, before: string, at: number): void {
    const known = this.#invocations.get(before)?.[0] ?? at;
    const first =
      rewindFromSeq === undefined ? known : Math.max(rewindFromSeq - 1 - (unread.get(this.#events) ?? 0), 0);
    let hidden = at;
    while (hidden > first) {
      const last = this.#hidden.at(-1);
      if (last && last[1] === hidden - 1) {
        this.#hidden.pop();
        hidden = last[0];
      } else {
        hidden -= 1;
        this.#forget(this.#events[hidden], hidden);
      }
    }
    this.#hidden.push([hidden, at]);
    this.#questions.cutAt(hidden, this.#events);
  }

  /** Takes the last event that counts out of the lists. */
  #forget(event: Event | undefined, at: number): void {
    if (!event) return;
    this.#invocations.get(event.invocationId)?.pop();
    this.#authors.get(event.author ?? '')?.pop();
    if (this.#compactions.at(-1) === event) this.#compactions.pop();
    for (const { id = '' } of getFunctionCalls(event)) {
      const calls = this.#calls.get(id);
      if (calls?.at(-1) === at) calls.pop();
    }
    for (const { id = '' } of getFunctionResponses(event)) this.#responses.get(id)?.pop();
  }

  #index(event: Event, at: number): void {
    const { invocationId, author = '' } = event;
    listIn(this.#invocations, invocationId).push(at);
    listIn(this.#authors, author).push(at);
    if (event.actions.compaction) this.#compactions.push(event);
    for (const response of getFunctionResponses(event)) this.#respond(event, response, at);
    for (const call of getFunctionCalls(event)) {
      if (call.id === undefined) continue;
      const calls = listIn(this.#calls, call.id);
      if (calls.at(-1) !== at) calls.push(at);
      this.#questions.noteCall(event, call, at);
    }
  }

  #respond(event: Event, response: FunctionResponse, position: number): void {
    const { id = '' } = response;
    listIn(this.#responses, id).push({ response, event, position });
    this.#questions.noteResponse(event, response, position);
    if (event.author !== 'user') return;
    const asked = this.callsOf(id).findLast(({ author }) => author !== 'user')?.invocationId;
    if (asked !== undefined && asked !== event.invocationId) this.#tie(asked, event.invocationId);
  }

  #tie(one: string, other: string): void {
    setIn(this.#ties, one).add(other);
    setIn(this.#ties, other).add(one);
  }
}

function listIn<V>(map: Map<string, V[]>, key: string): V[] {
  let list = map.get(key);
  if (!list) {
    list = [];
    map.set(key, list);
  }
  return list;
}

function setIn(map: Map<string, Set<string>>, key: string): Set<string> {
  const set = map.get(key) ?? new Set();
  map.set(key, set);
  return set;
}
