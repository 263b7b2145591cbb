import { getFunctionCalls, getFunctionResponses } from '@agentmesh/agent';
import { questionOf, type StoredEvent } from '@agentmesh/agent/internal';
import type { Event, SessionRef, ToolResult } from '@agentmesh/protocol';
import type { CallResults } from '@agentmesh/store';
import { jobOf, keyOf } from '../calls/call-key.ts';
import type { Mesh } from '../mesh/mesh.ts';

/** What is kept of calls outside of the session that made them. */
export type KeptCalls = {
  callResults: Pick<CallResults, 'forget' | 'put'>;
  jobs: Pick<Mesh['jobs'], 'forget'>;
};

interface SeenCall {
  name: string;
  /** Those that made the call, or got its result. */
  invocations: Set<string>;
  /** How many questions it has asked. */
  rounds: number;
  /** Epoch ms of the last event about it. */
  last: number;
  isLongRunning: boolean;
  /** It has its result: nobody is at work on it any more. */
  isOver: boolean;
}

/** Calls of a log that are remembered at a time: the questions of a call, and its result, come soon. */
const maxSeen = 2_000;
/** So long after its last event nothing is kept of a call, in ms: jobs are kept for a week. */
const keptMs = 8 * 86_400_000;
const atOnce = 32;
/** So long a call may be on its way to its tool, and so long it is known that it has ended, in ms. */
const wayMs = 600_000;

/** What a tool is told, and its caller, whose call went with its session. */
const gone: ToolResult = {
  response: { status: 'cancelled', error: 'the session of the call was deleted' },
  failed: { code: 'cancelled', message: 'the session of the call was deleted' },
};

/**
 * The calls of one session's log, page by page: the keys of their results and jobs follow from the calls. Where a tool may still be at work, its call has
 * ended from now on, for some minutes: what comes is not kept.
 */
export class CallsOfLog {
  readonly #ref: SessionRef;
  readonly #kept: KeptCalls;
  readonly #seen = new Map<string, SeenCall>();

  constructor(ref: SessionRef, kept: KeptCalls) {
    this.#ref = ref;
    this.#kept = kept;
  }

  /** Forgets what is kept of the calls of a page, once nothing more can come about them; an empty page is the log's end. Returns how much there was. */
  async forgetPage(page: readonly StoredEvent[]): Promise<number> {
    for (const { event } of page) this.#note(event);
    return await this.#forget(page.length === 0 ? 0 : maxSeen);
  }

  #note(event: Event): void {
    const { longRunningToolIds = [], timestamp } = event;
    for (const call of getFunctionCalls(event)) {
      const question = questionOf(event, call);
      const asked = question && this.#seen.get(question.callId);
      if (asked) Object.assign(asked, { rounds: asked.rounds + 1, isOver: false, last: timestamp });
      if (call.id === undefined || question) continue;
      const isLongRunning = longRunningToolIds.includes(call.id);
      this.#touch(event, call.id, { name: call.name ?? '', isLongRunning, isOver: false });
    }
    for (const { id, name = '', willContinue } of getFunctionResponses(event)) {
      const seen = id !== undefined && this.#seen.get(id);
      if (!seen || event.author === 'user') continue;
      // The work of a long-running call may go on behind its first word, and that of another behind its question.
      this.#touch(event, id, { ...seen, name, isOver: !willContinue && !seen.isLongRunning });
    }
  }

  #touch(
    { invocationId, timestamp: last }: Event,
    id: string,
    about: Pick<SeenCall, 'name' | 'isLongRunning' | 'isOver'>,
  ): void {
    const { invocations = new Set<string>(), rounds = 0 } = this.#seen.get(id) ?? {};
    invocations.add(invocationId);
    const { name, isLongRunning, isOver } = about;
    this.#seen.set(id, { name, isLongRunning, isOver, invocations, rounds, last });
  }

  /** Forgets the calls that were seen first, until so many are left. */
  async #forget(left: number): Promise<number> {
    let count = 0;
    while (this.#seen.size > left) {
      const some = [...this.#seen].slice(0, Math.min(atOnce, this.#seen.size - left));
      for (const [id] of some) this.#seen.delete(id);
      const counts = await Promise.all(some.map(([id, call]) => this.#forgetCall(id, call)));
      count = counts.reduce((sum, each) => sum + each, count);
    }
    return count;
  }

  async #forgetCall(callId: string, { name, invocations, rounds, last, isOver }: SeenCall): Promise<number> {
    if (isOver && last < Date.now() - keptMs) return 0;
    const { appName: app, userId: user, sessionId: session } = this.#ref;
    const context = { app, user, session, invocationId: '', agent: '', state: {} };
    const made = [...invocations].map((invocationId) => ({
      context: { ...context, invocationId },
      answers: 0,
    }));
    const again = Array.from({ length: rounds }, (_, n) => ({ context, answers: n + 1 }));
    const final = isOver ? undefined : gone;
    const { callResults, jobs } = this.#kept;
    const mayCome = !isOver && last > Date.now() - wayMs;
    const forgetResult = async (tool: string, key: string) => {
      const was = await callResults.forget(tool, key, final);
      // The worker of a job looks whether its call is still there; a tool does not.
      if (!was && mayCome) await callResults.put(tool, key, gone, wayMs);
      return was;
    };
    const forgotten = [...made, ...again].flatMap((about) => {
      const call = { callId, args: {}, ...about };
      return servedNames(name).flatMap((tool) => [
        forgetResult(tool, keyOf(call, callId)),
        jobs.forget(tool, jobOf(call, callId), final),
      ]);
    });
    return (await Promise.all(forgotten)).filter(Boolean).length;
  }
}

/** Under which names a tool may be served that agents know by this one: toolsets may put a prefix before it. */
function servedNames(name: string): string[] {
  const parts = name.split('_');
  return parts.map((_, at) => parts.slice(at).join('_')).filter((each) => each !== '');
}
