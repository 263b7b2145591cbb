import { getFunctionCalls, getFunctionResponses } from '@agentmesh/agent';
import { questionOf, type StoredEvent } from '@agentmesh/agent/internal';
import { type Event, meshTime, type SessionRef, type ToolResult } from '@agentmesh/protocol';
import type { CallResults } from '@agentmesh/store';
import { jobOf, keyOf } from '../calls/call-key.ts';
import type { Mesh } from '../mesh/mesh.ts';

/** The stores that keep data of calls outside the session that made them. */
export type KeptCalls = {
  callResults: Pick<CallResults, 'forget' | 'put'>;
  jobs: Pick<Mesh['jobs'], 'forget'>;
};

interface LoggedCall {
  name: string;
  /** Invocations that made the call, or got its result. */
  invocations: Set<string>;
  /** Number of questions that the call has asked. */
  rounds: number;
  /** Time of the last event about the call, in epoch ms. */
  last: number;
  isLongRunning: boolean;
  /** True if the call has its result: nobody works on the call any more. */
  isOver: boolean;
}

/**
 * Number of calls of a log that are remembered at a time: the questions and the result of a call come soon
 * after the call.
 */
const maxLoggedCalls = 2_000;
/** Time after the last event at which no data of a call is left, in ms: jobs are kept for a week. */
const keptMs = 8 * 86_400_000;
const atOnce = 32;
/** Longest time that a call may be on its way to its tool, and for which its end is remembered, in ms. */
const inTransitMs = 600_000;

/** The result for the tool and the caller of a call that was deleted with its session. */
const deletedResult: ToolResult = {
  response: { status: 'cancelled', error: 'the session of the call was deleted' },
  failed: { code: 'cancelled', message: 'the session of the call was deleted' },
};

/**
 * Forgets the calls of one session's log, page by page; the keys of their results and jobs follow from the
 * calls. If a tool may still work on a call, the call gets an end that is kept for some minutes, so that a
 * later result is not kept.
 */
export class CallsOfLog {
  readonly #ref: SessionRef;
  readonly #kept: KeptCalls;
  readonly #loggedCalls = new Map<string, LoggedCall>();

  constructor(ref: SessionRef, kept: KeptCalls) {
    this.#ref = ref;
    this.#kept = kept;
  }

  /**
   * Forgets the data of the page's calls as soon as no more events about them can come; an empty page means
   * the end of the log. Returns how many results and jobs there were.
   */
  async forgetPage(page: readonly StoredEvent[]): Promise<number> {
    for (const { event } of page) this.#note(event);
    return await this.#forget(page.length === 0 ? 0 : maxLoggedCalls);
  }

  #note(event: Event): void {
    const { longRunningToolIds = [], timestamp } = event;
    for (const call of getFunctionCalls(event)) {
      const question = questionOf(event, call);
      const askingCall = question && this.#loggedCalls.get(question.callId);
      if (askingCall)
        Object.assign(askingCall, { rounds: askingCall.rounds + 1, isOver: false, last: timestamp });
      if (call.id === undefined || question) continue;
      const isLongRunning = longRunningToolIds.includes(call.id);
      this.#touch(event, call.id, { name: call.name ?? '', isLongRunning, isOver: false });
    }
    for (const { id, name = '', willContinue } of getFunctionResponses(event)) {
      const loggedCall = id !== undefined && this.#loggedCalls.get(id);
      if (!loggedCall || event.author === 'user') continue;
      // A long-running call may go on after its first response, and any other call after its question.
      this.#touch(event, id, { ...loggedCall, name, isOver: !willContinue && !loggedCall.isLongRunning });
    }
  }

  #touch(
    { invocationId, timestamp: last }: Event,
    id: string,
    about: Pick<LoggedCall, 'name' | 'isLongRunning' | 'isOver'>,
  ): void {
    const { invocations = new Set<string>(), rounds = 0 } = this.#loggedCalls.get(id) ?? {};
    invocations.add(invocationId);
    const { name, isLongRunning, isOver } = about;
    this.#loggedCalls.set(id, { name, isLongRunning, isOver, invocations, rounds, last });
  }

  /** Forgets the oldest calls, until `remaining` calls are left. */
  async #forget(remaining: number): Promise<number> {
    let count = 0;
    while (this.#loggedCalls.size > remaining) {
      const batch = [...this.#loggedCalls].slice(0, Math.min(atOnce, this.#loggedCalls.size - remaining));
      for (const [id] of batch) this.#loggedCalls.delete(id);
      const counts = await Promise.all(batch.map(([id, call]) => this.#forgetCall(id, call)));
      count = counts.reduce((sum, each) => sum + each, count);
    }
    return count;
  }

  async #forgetCall(
    callId: string,
    { name, invocations, rounds, last, isOver }: LoggedCall,
  ): Promise<number> {
    if (isOver && last < meshTime() - keptMs) return 0;
    const { appName: app, userId: user, sessionId: session } = this.#ref;
    const context = { app, user, session, invocationId: '', agent: '', state: {} };
    const firstCalls = [...invocations].map((invocationId) => ({
      context: { ...context, invocationId },
      answers: 0,
    }));
    const answeredCalls = Array.from({ length: rounds }, (_, n) => ({ context, answers: n + 1 }));
    const final = isOver ? undefined : deletedResult;
    const { callResults, jobs } = this.#kept;
    const mayArrive = !isOver && last > meshTime() - inTransitMs;
    const forgetResult = async (tool: string, key: string) => {
      const existed = await callResults.forget(tool, key, final);
      // The worker of a job checks whether its call still exists; a plain tool does not check, so its call
      // gets an end in advance.
      if (!existed && mayArrive) await callResults.put(tool, key, deletedResult, inTransitMs);
      return existed;
    };
    const forgotten = [...firstCalls, ...answeredCalls].flatMap((about) => {
      const call = { callId, args: {}, ...about };
      return servedNames(name).flatMap((tool) => [
        forgetResult(tool, keyOf(call, callId)),
        jobs.forget(tool, jobOf(call, callId), final),
      ]);
    });
    return (await Promise.all(forgotten)).filter(Boolean).length;
  }
}

/** Returns the names under which the tool may be served: toolsets may put a prefix before its name. */
function servedNames(name: string): string[] {
  const parts = name.split('_');
  return parts.map((_, at) => parts.slice(at).join('_')).filter((each) => each !== '');
}
