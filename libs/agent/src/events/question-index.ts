import type { Event } from '@agentmesh/protocol';
import type { FunctionCall, FunctionResponse } from '@google/genai';
import { getFunctionCalls, getFunctionResponses } from './event.ts';
import { type Question, questionOf } from './question.ts';

const none: readonly never[] = [];

/** Index of the questions of a log and of their states. */
export class QuestionIndex {
  readonly #questions = new Map<string, Question>();
  /** Questions by the call that waits, in order. */
  readonly #ofCalls = new Map<string, Question[]>();
  readonly #open = new Map<string, Question>();
  readonly #due = new Map<string, Question>();
  /** Positions of events that asked, answered or closed a question. */
  readonly #steps: number[] = [];

  get(id: string | undefined): Question | undefined {
    return this.#questions.get(id ?? '');
  }

  /** Returns the questions of a call, in order. */
  ofCall(callId: string | undefined): readonly Question[] {
    return this.#ofCalls.get(callId ?? '') ?? none;
  }

  /** The questions without an answer, in order. */
  get open(): Iterable<Question> {
    return this.#open.values();
  }

  /** For each call that has to run again: its last question, which is answered. */
  get due(): Iterable<Question> {
    return this.#due.values();
  }

  /** Takes in a call of the event at a position of the log, if it is a question. */
  noteCall(event: Event, call: FunctionCall, position: number): void {
    const question = event.author === 'user' ? undefined : questionOf(event, call);
    if (!question) return;
    this.#noteStep(position);
    this.#ask(question);
  }

  /** Takes in a response: it answers a question, or closes a call that has asked a question. */
  noteResponse(event: Event, response: FunctionResponse, position: number): void {
    const { id = '', willContinue } = response;
    const due = this.#due.get(id);
    if (due && due.answeredIn !== event && willContinue !== true) {
      this.#noteStep(position);
      this.#due.delete(id);
    }
    const question = event.author === 'user' ? this.#questions.get(id) : undefined;
    if (!question || question.answer) return;
    this.#noteStep(position);
    question.answer = response;
    question.answeredIn = event;
    this.#open.delete(id);
    if (this.ofCall(question.callId).at(-1) === question) this.#due.set(question.callId, question);
  }

  /**
   * Removes the events from a position on: rebuilds the index from the earlier events that concern questions.
   */
  cutAt(position: number, events: readonly Event[]): void {
    if ((this.#steps.at(-1) ?? -1) < position) return;
    for (const map of [this.#questions, this.#ofCalls, this.#open, this.#due]) map.clear();
    const steps = this.#steps.splice(0).filter((at) => at < position);
    for (const at of steps) {
      const event = events[at];
      if (!event) continue;
      for (const response of getFunctionResponses(event)) this.noteResponse(event, response, at);
      for (const call of getFunctionCalls(event)) this.noteCall(event, call, at);
    }
  }

  #noteStep(position: number): void {
    if (this.#steps.at(-1) !== position) this.#steps.push(position);
  }

  #ask(question: Question): void {
    const previous = this.#questions.get(question.id);
    // A question that is asked again under the same id replaces the first question.
    if (previous) {
      const questions = this.#ofCalls.get(previous.callId) ?? [];
      questions.splice(questions.indexOf(previous), 1);
      if (this.#due.get(previous.callId) === previous) this.#due.delete(previous.callId);
    }
    this.#questions.set(question.id, question);
    const ofCall = this.#ofCalls.get(question.callId);
    if (ofCall) ofCall.push(question);
    else this.#ofCalls.set(question.callId, [question]);
    this.#open.set(question.id, question);
    this.#due.delete(question.callId);
  }
}
