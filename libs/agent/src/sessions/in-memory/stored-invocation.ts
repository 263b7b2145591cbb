import { copyJson } from '../../events/copy-json.ts';
import { frozenJson } from '../../events/frozen-json.ts';
import { runName } from '../../events/run-ids.ts';
import {
  closedPartError,
  type InvocationRecord,
  type RunEnd,
  type RunEnding,
  recordedEnd,
  type SessionWork,
} from '../invocations.ts';
import { takeoverError } from '../session-errors.ts';
import type { Delivery } from '../session-leases.ts';
import { type JsonMap, withPrefix } from './event-log.ts';

/** The stored record of one invocation. */
export interface StoredInvocation {
  /** Id of the session that used the invocation first; the record is deleted with it. */
  owner: string;
  /** Id of the session that a run of the invocation took or waits for. */
  home?: string;
  temp?: JsonMap;
  llmCalls: number;
  tokens: number;
  token: number;
  begun: number;
  /** The message that brought the run which has the session; undefined while the run waits. */
  delivery?: Delivery | undefined;
  /** The name of the run that had the session last. */
  taken?: string;
  /** The agent whose service took the session last. */
  agent?: string;
  /** The tools that work on calls, by the ids of the calls. */
  calls?: Map<string, string>;
  /** The place in the order of acceptance of each run that waited, by its name. */
  places?: Map<string, number>;
  /** Number of the newest attempt by part. */
  attempts?: Map<string, number>;
  cancelled?: string;
  /**
   * The current or last run: '' for the run that began the invocation, else the `resume` of the run that
   * continues it.
   */
  run: string;
  /** The run before that. */
  before: string;
  /** The end of each run, frozen. */
  ends: Map<string, RunEnd>;
}

export function newInvocation(owner: string): StoredInvocation {
  return {
    owner,
    llmCalls: 0,
    tokens: 0,
    token: 0,
    begun: 0,
    run: '',
    before: '',
    ends: new Map(),
  };
}

/** Returns the record of an invocation of a deleted session: how its runs ended. */
export function endsOnly({ run, ends }: StoredInvocation): StoredInvocation {
  const message = 'its session was deleted';
  const failed: RunEnd = { status: 'failed', error: { code: 'not_found', message } };
  const all = ends.has(run) ? [...ends] : [...ends, [run, failed] as const];
  const kept = all.map(([each, { error, ...end }]): [string, RunEnd] => [
    each,
    // The words of an error may hold data of the user.
    { ...end, ...(error && { error: { ...error, message } }) },
  ]);
  return { ...newInvocation(''), run, ends: new Map(kept) };
}

/** Records that a run has got the session: from now on it is the current run of the invocation. */
export function beginRun(invocation: StoredInvocation, run: string): void {
  if (invocation.run === run) return;
  if (isOver(invocation)) delete invocation.cancelled;
  invocation.before = invocation.run;
  invocation.run = run;
  invocation.begun = 0;
}

/** The number of attempts that stands for a closed part. */
const closedPart = Number.MAX_SAFE_INTEGER;

/** Begins an attempt at a part, and returns its number. @throws MeshError `cancelled` for a closed part */
export function beginAttempt(invocation: StoredInvocation, part: string): number {
  invocation.attempts ??= new Map();
  const number = (invocation.attempts.get(part) ?? 0) + 1;
  if (number > closedPart) throw closedPartError();
  invocation.attempts.set(part, number);
  return number;
}

/** Closes a part for good. */
export function closePart(invocation: StoredInvocation, part: string): void {
  invocation.attempts ??= new Map();
  invocation.attempts.set(part, closedPart);
}

/** Returns the services that work for an invocation. */
export function workOf(invocationId: string, invocation: StoredInvocation): SessionWork {
  const { agent, attempts = [], calls = new Map<string, string>() } = invocation;
  const parts = [...attempts].filter(([, number]) => number !== closedPart).map(([part]) => part);
  return { invocationId, ...(agent !== undefined && { agent }), parts, tools: [...new Set(calls.values())] };
}

/** Tells whether the message repeats the work of the current delivery under another id. */
export function isDuplicate({ delivery }: StoredInvocation, other: Delivery | undefined): boolean {
  return other !== undefined && delivery?.part === other.part && delivery.message !== other.message;
}

export function isOver({ ends, run }: StoredInvocation): boolean {
  return ends.has(run);
}

/** Names the current run of the invocation. */
export function currentRun(invocationId: string, { run }: StoredInvocation): string {
  return runName({ invocationId, resume: run === '' ? undefined : run });
}

export function endRun(invocation: StoredInvocation, run: string, ending: RunEnding): void {
  if (!invocation.ends.has(run)) invocation.ends.set(run, frozenJson(recordedEnd(ending), 'the end').copy);
  if (ending.refused && run !== '' && invocation.run === run) invocation.run = invocation.before;
}

export function recordOf(found: StoredInvocation | undefined): InvocationRecord {
  const { run = '', ends = new Map<string, RunEnd>() } = found ?? {};
  const isContinued = run !== '' || ends.size > (ends.has('') ? 1 : 0);
  const end = ends.get(run);
  return {
    ...(end === undefined ? { status: 'running' } : copyJson(end)),
    temp: withPrefix('temp:', found?.temp),
    llmCalls: found?.llmCalls ?? 0,
    tokens: found?.tokens ?? 0,
    ...(found?.home !== undefined && { home: found.home }),
    ...(found?.cancelled !== undefined && { cancelled: found.cancelled }),
    ...(run !== '' && { resume: run }),
    ...(isContinued && { ends: new Map([...ends].map(([each, of]) => [each, copyJson(of)])) }),
  };
}

/** @throws MeshError `aborted` for a token that is not the newest */
export function assertCurrent(invocation: StoredInvocation, token: number | undefined): void {
  // A token without an entry there means that the session was deleted.
  if (token === undefined || (invocation.token > 0 && token >= invocation.token)) return;
  throw takeoverError();
}
