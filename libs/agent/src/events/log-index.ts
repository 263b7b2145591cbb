import type { Event } from '@agentmesh/protocol';
import type { FunctionResponse } from '@google/genai';
import { getFunctionCalls, getFunctionResponses } from './event.ts';
import { addTo, setIn } from './keyed-lists.ts';
import { isQuestionName, type Question } from './question.ts';
import { QuestionIndex } from './question-index.ts';

/** A response to a call, with its event. */
export interface LoggedResponse {
  response: FunctionResponse;
  event: Event;
  /** Position of the event, from 0. */
  position: number;
}

const none: readonly never[] = [];
const indexes = new WeakMap<readonly Event[], LogIndex>();
const unread = new WeakMap<readonly Event[], number>();

/** Records how many events of the session precede this list of events. */
export function noteUnread(events: readonly Event[], count: number): void {
  if (unread.get(events) === count || (count === 0 && !unread.has(events))) return;
  unread.set(events, count);
  indexes.delete(events);
}

/**
 * Returns the index of a log. There is one index for each list of events. Events may only be added at the end
 * of the list; the index takes in the events that were added since the last query. The cost of a query
 * depends on its result, not on the length of the log.
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

/** Finds events by invocation, author, call or question. See {@link logIndex}. */
export class LogIndex {
  readonly #events: readonly Event[];
  #size = 0;
  #last: Event | undefined;
  readonly #ids = new Map<string, number>();
  readonly #invocations = new Map<string, number[]>();
  readonly #authors = new Map<string, number[]>();
  readonly #calls = new Map<string, number[]>();
  readonly #responses = new Map<string, LoggedResponse[]>();
  /** For each invocation: the invocations that questions and answers tie to it. */
  #ties: Map<string, Set<string>> | undefined;
  /** Undefined before the first question, as in most logs. */
  #questions: QuestionIndex | undefined;
  readonly #compactions: Event[] = [];
  /**
   * Rewound parts: positions of the first and the last event of each part, in order. The parts do not
   * overlap.
   */
  readonly #hidden: [first: number, last: number][] = [];

  constructor(events: readonly Event[]) {
    this.#events = events;
  }

  /** Tells whether this is still the indexed list, perhaps with more events at its end. */
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

  /** Tells whether any event was rewound. */
  get hasHidden(): boolean {
    return this.#hidden.length > 0;
  }

  /**
   * Tells whether the event at this position was rewound. Such an event stays in the log but has no effect.
   */
  isHidden(position: number): boolean {
    let [low, high] = [0, this.#hidden.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#hidden[middle]?.[1] ?? 0) < position) low = middle + 1;
      else high = middle;
    }
    return (this.#hidden[low]?.[0] ?? Number.POSITIVE_INFINITY) <= position;
  }

  /** Returns the events from a position on, without rewound events. */
  visible(from = 0): readonly Event[] {
    if (this.#hidden.length > 0) return this.#events.filter((_, at) => at >= from && !this.isHidden(at));
    return from === 0 ? this.#events : this.#events.slice(from);
  }

  /** Returns the position of the event with that id, from 0. */
  positionOf(id: string): number | undefined {
    return this.#ids.get(id);
  }

  get(id: string): Event | undefined {
    return this.#events[this.#ids.get(id) ?? -1];
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** Returns the events of some invocations from a position on, in order. */
  ofInvocations(invocations: Iterable<string>, from = 0): Event[] {
    const positions: number[] = [];
    let lists = 0;
    for (const invocation of invocations) {
      lists += 1;
      for (const at of this.#invocations.get(invocation) ?? none) if (at >= from) positions.push(at);
    }
    if (lists > 1) positions.sort((a, b) => a - b);
    return this.#allAt(positions);
  }

  ofInvocation(invocation: string): Event[] {
    return this.#allAt(this.#invocations.get(invocation) ?? none);
  }

  /**
   * Returns the invocation and all invocations that questions and answers tie to it, with the position of
   * their first event.
   */
  tiedTo(invocation: string): { invocations: Set<string>; start: number } {
    const invocations = new Set([invocation]);
    for (const each of invocations) for (const tied of this.#ties?.get(each) ?? none) invocations.add(tied);
    const starts = [...invocations].map((each) => this.#invocations.get(each)?.[0] ?? this.#events.length);
    return { invocations, start: Math.min(...starts) };
  }

  /** Returns the position of this author's last event; -1 when there is none. */
  lastBy(author: string): number {
    return this.#authors.get(author)?.at(-1) ?? -1;
  }

  /**
   * Returns the events that make a call with this id, in order. There are several such events only when an id
   * was used twice.
   */
  callsOf(callId: string | undefined): Event[] {
    return this.#allAt(this.positionsOfCall(callId));
  }

  /** Returns the positions of the events of {@link callsOf}. */
  positionsOfCall(callId: string | undefined): readonly number[] {
    return this.#calls.get(callId ?? '') ?? none;
  }

  /** Returns the last event that makes one of these calls and passes the test. */
  lastCallOf(callIds: Iterable<string | undefined>, fits?: (event: Event) => boolean): Event | undefined {
    return this.#eventsWithCalls(callIds, fits).at(-1);
  }

  /** Returns the first event that makes one of these calls and passes the test. */
  firstCallOf(callIds: Iterable<string | undefined>, fits?: (event: Event) => boolean): Event | undefined {
    return this.#eventsWithCalls(callIds, fits)[0];
  }

  /** Returns the responses to a call, in order. */
  responsesTo(callId: string | undefined): readonly LoggedResponse[] {
    return this.#responses.get(callId ?? '') ?? none;
  }

  question(id: string | undefined): Question | undefined {
    return this.#questions?.get(id);
  }

  /** Returns the questions of a call, in order. */
  questionsOfCall(callId: string | undefined): readonly Question[] {
    return this.#questions?.ofCall(callId) ?? none;
  }

  /** Returns the questions that an event asks. */
  questionsIn(event: Event): Question[] {
    return getFunctionCalls(event).flatMap(({ id }) => {
      const question = this.question(id);
      return question?.event === event ? [question] : [];
    });
  }

  /** The questions without an answer, in order. */
  get openQuestions(): Iterable<Question> {
    return this.#questions?.open ?? none;
  }

  /** Tells whether a call waits for a person. */
  isWaiting(callId: string | undefined): boolean {
    const last = this.questionsOfCall(callId).at(-1);
    return last !== undefined && !last.answer;
  }

  /** Returns the last event with a summary that passes the test. */
  lastCompaction(fits: (event: Event) => boolean): Event | undefined {
    return this.#compactions.findLast(fits);
  }

  /** For each call that has to run again: its last question, which is answered. */
  get dueQuestions(): Iterable<Question> {
    return this.#questions?.due ?? none;
  }

  #eventsWithCalls(callIds: Iterable<string | undefined>, fits: (event: Event) => boolean = () => true) {
    const positions = [...callIds].flatMap((id) => this.positionsOfCall(id));
    return this.#allAt(positions.sort((a, b) => a - b)).filter(fits);
  }

  #allAt(positions: readonly number[]): Event[] {
    const events: Event[] = [];
    for (const at of positions) {
      const event = this.#events[at];
      if (event) events.push(event);
    }
    return events;
  }

  #add(event: Event, at: number): void {
    if (!this.#ids.has(event.id)) this.#ids.set(event.id, at);
    const { rewindBeforeInvocationId: before } = event.actions;
    if (typeof before === 'string') this.#rewind(event, before, at);
    else this.#index(event, at);
  }

  /**
   * Removes rewound events from the index, except for their ids: no event is committed twice. Each event is
   * removed at most once.
   */
  #rewind({ actions: { rewindFromSeq } }: Event, before: string, at: number): void {
    const start = this.#invocations.get(before)?.[0] ?? at;
    const first =
      rewindFromSeq === undefined ? start : Math.max(rewindFromSeq - 1 - (unread.get(this.#events) ?? 0), 0);
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
    this.#questions?.cutAt(hidden, this.#events);
  }

  /** Removes the last visible event from the lists. */
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
    addTo(this.#invocations, invocationId, at);
    addTo(this.#authors, author, at);
    if (event.actions.compaction) this.#compactions.push(event);
    for (const response of getFunctionResponses(event)) this.#respond(event, response, at);
    for (const call of getFunctionCalls(event)) {
      if (call.id === undefined) continue;
      if (this.#calls.get(call.id)?.at(-1) !== at) addTo(this.#calls, call.id, at);
      if (isQuestionName(call.name)) this.#questions ??= new QuestionIndex();
      this.#questions?.noteCall(event, call, at);
    }
  }

  #respond(event: Event, response: FunctionResponse, position: number): void {
    const { id = '' } = response;
    addTo(this.#responses, id, { response, event, position });
    this.#questions?.noteResponse(event, response, position);
    if (event.author !== 'user') return;
    const asker = this.callsOf(id).findLast(({ author }) => author !== 'user')?.invocationId;
    if (asker !== undefined && asker !== event.invocationId) this.#tie(asker, event.invocationId);
  }

  #tie(one: string, other: string): void {
    this.#ties ??= new Map();
    setIn(this.#ties, one).add(other);
    setIn(this.#ties, other).add(one);
  }
}
