import { createHash } from 'node:crypto';
import { type Event, replicaKey } from '@agentmesh/protocol';
import { pathOf } from '../events/agent-path.ts';
import { deadlineOfCall, setDeadlines } from '../events/deadlines.ts';
import { createEvent, getFunctionCalls, getFunctionResponses } from '../events/event.ts';
import { questionNames } from '../events/question.ts';

/** A call that waits for an answer from outside. */
export interface PendingCall {
  /** What is answered: a function response of this id. */
  id: string;
  name: string;
  args: Record<string, unknown>;
  /** What kind of answer is wanted; `result` for a long-running tool, or a call that the client makes. */
  kind: 'confirmation' | 'credential' | 'input' | 'result';
  sessionId: string;
  invocationId: string;
  /** Who called. */
  agent: string;
  /** The run of a workflow that it was made in; absent outside of one. */
  path?: string;
  /** When it was committed, epoch ms. */
  created: number;
  /** When nobody waits for the answer any more, epoch ms; absent when somebody always does. */
  deadline?: number;
  /** On a mesh: the agent whose service made the call, which takes updates of it. */
  service?: string;
  /** Of the event that called. */
  branch?: string;
}

/** The event that made a call, as far as what waits tells of it: an answer can be checked without the session's log. */
export function askingEvent(call: PendingCall): Event {
  const { id, name, args, invocationId, agent, path, branch, created, deadline } = call;
  const event = createEvent({
    invocationId,
    author: agent,
    timestamp: created,
    content: { role: 'model', parts: [{ functionCall: { id, name, args } }] },
    longRunningToolIds: [id],
    ...(branch !== undefined && { branch }),
    ...(path !== undefined && { nodeInfo: { path } }),
  });
  if (deadline !== undefined) setDeadlines(event, new Map([[id, deadline]]));
  return event;
}

/** A call that got its answer for good, who gave it, and a fingerprint of what was said. */
export interface ClosedCall {
  id: string;
  by: 'agent' | 'user';
  digest: string;
}

/** What an event changes in what is waited for: calls that stay open, and those that are answered for good. */
export function pendingChanges(
  event: Event,
  sessionId: string,
): { opened: PendingCall[]; closed: ClosedCall[] } {
  const { author = '', longRunningToolIds = [], actions } = event;
  const isUser = author === 'user';
  const open = new Set(isUser ? [] : longRunningToolIds);
  const opened = getFunctionCalls(event).flatMap((call) =>
    call.id !== undefined && open.has(call.id)
      ? [pendingCall(event, sessionId, { ...call, id: call.id })]
      : [],
  );
  // What a tool itself says first is no answer, unless it says that it is its last word.
  const closed = getFunctionResponses(event).flatMap(({ id, willContinue, response }): ClosedCall[] =>
    id !== undefined && (willContinue === false || (isUser && !willContinue))
      ? [{ id, by: isUser ? 'user' : 'agent', digest: answerDigest(response) }]
      : [],
  );
  const given = (actions.closedCalls ?? []).map((id): ClosedCall => ({ id, by: 'user', digest: 'closed' }));
  return { opened, closed: [...closed, ...given] };
}

/** What turns to come need to know of an event: which calls it leaves open, which it says something to, and what it sums up. */
export function turnChanges(event: Event): {
  asks: string[];
  answers: string[];
  summary: { agent: string; throughSeq: number } | undefined;
  author: string;
  /** What was summed up may be among what counts no more. */
  isRewind: boolean;
} {
  const { author = '', branch, longRunningToolIds = [], actions } = event;
  const isUser = author === 'user';
  const { agent = '', throughSeq } = actions.compaction ?? {};
  return {
    asks: isUser ? [] : [...new Set(longRunningToolIds)],
    answers: isUser ? [...new Set(getFunctionResponses(event).flatMap(({ id }) => id ?? []))] : [],
    // Of a branch nobody outside of it reads.
    author,
    isRewind: typeof actions.rewindBeforeInvocationId === 'string',
    summary: throughSeq === undefined || branch !== undefined ? undefined : { agent, throughSeq },
  };
}

function pendingCall(
  event: Event,
  sessionId: string,
  { id, name = '', args = {} }: { id: string; name?: string; args?: Record<string, unknown> },
): PendingCall {
  const { author = '', invocationId, timestamp, branch } = event;
  const path = pathOf(event);
  const deadline = deadlineOfCall(event, id);
  const service = agentOfReplica(event.customMetadata?.[replicaKey]);
  return {
    id,
    name,
    args,
    kind: kindOf(name),
    sessionId,
    invocationId,
    agent: author,
    created: timestamp,
    ...(deadline !== undefined && { deadline }),
    ...(service !== undefined && { service }),
    ...(branch !== undefined && { branch }),
    ...(path !== undefined && { path }),
  };
}

function kindOf(name: string): PendingCall['kind'] {
  const kinds = Object.entries(questionNames) as [keyof typeof questionNames, string][];
  return kinds.find(([, each]) => each === name)?.[0] ?? 'result';
}

/** The agent in whose service a replica is, by its id `agent_<name>-<pid>-<random>`. */
function agentOfReplica(replica: unknown): string | undefined {
  if (typeof replica !== 'string') return undefined;
  return /^agent_(.+)-\d+-[0-9a-f]{8}$/.exec(replica)?.[1];
}

/** A short fingerprint of an answer, the same whatever the order of its keys. */
export function answerDigest(answer: unknown): string {
  const text = JSON.stringify(answer ?? null, (_key, value: unknown) => inOrder(value));
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

function inOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
