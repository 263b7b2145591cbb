import { digestOf, type Event, replicaKey, versionKey } from '@agentmesh/protocol';
import { pathOf } from '../events/agent-path.ts';
import { deadlineOfCall, setDeadlines } from '../events/deadlines.ts';
import { createEvent, getFunctionCalls, getFunctionResponses } from '../events/event.ts';
import { questionNames } from '../events/question.ts';

/** A pending call: it waits for an answer from outside. */
export interface PendingCall {
  /** Id of the call; the function response that answers it has the same id. */
  id: string;
  name: string;
  args: Record<string, unknown>;
  /** Kind of the expected answer; `result` for a long-running tool, or a call that the client makes. */
  kind: 'confirmation' | 'credential' | 'input' | 'result';
  sessionId: string;
  invocationId: string;
  /** The agent that made the call. */
  agent: string;
  /** The path of the workflow run that made the call; absent outside of a workflow. */
  path?: string;
  /** Time of the commit, epoch ms. */
  created: number;
  /** Deadline of the answer, epoch ms; absent for none. */
  deadline?: number;
  /** On a mesh: the agent whose service made the call and takes its updates. */
  service?: string;
  /** The version of the agent that made the call, where it is known. */
  version?: string;
  /** The branch of the event with the call. */
  branch?: string;
}

/**
 * Rebuilds the event that made a call from the pending call, so that an answer can be checked without the
 * session's log.
 */
export function askingEvent(call: PendingCall): Event {
  const { id, name, args, invocationId, agent, path, branch, created, deadline, version } = call;
  const event = createEvent({
    invocationId,
    author: agent,
    timestamp: created,
    content: { role: 'model', parts: [{ functionCall: { id, name, args } }] },
    longRunningToolIds: [id],
    ...(branch !== undefined && { branch }),
    ...(path !== undefined && { nodeInfo: { path } }),
    ...(version !== undefined && { customMetadata: { [versionKey]: version } }),
  });
  if (deadline !== undefined) setDeadlines(event, new Map([[id, deadline]]));
  return event;
}

/** A call with its final answer: who gave it, and its fingerprint. */
export interface ClosedCall {
  id: string;
  by: 'agent' | 'user';
  digest: string;
}

/** Tells whether an event may open or close a pending call. */
export function concernsPending(event: Event): boolean {
  const { longRunningToolIds, actions } = event;
  return Boolean(longRunningToolIds?.length || actions.closedCalls) || getFunctionResponses(event).length > 0;
}

/**
 * Returns the changes of an event to the pending calls: the calls that the event opens, and the calls that it
 * closes.
 */
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
  // The first response of a long-running tool does not close its call, unless the tool marks it as final.
  const closed = getFunctionResponses(event).flatMap(({ id, willContinue, response }): ClosedCall[] =>
    id !== undefined && (willContinue === false || (isUser && !willContinue))
      ? [{ id, by: isUser ? 'user' : 'agent', digest: answerDigest(response) }]
      : [],
  );
  const closedCalls = (actions.closedCalls ?? []).map(
    (id): ClosedCall => ({ id, by: isUser ? 'user' : 'agent', digest: 'closed' }),
  );
  return { opened, closed: [...closed, ...closedCalls] };
}

/**
 * Returns the facts about an event that later turns need: the calls that it leaves pending, the calls that it
 * answers, and what it summarizes.
 */
export function turnChanges(event: Event): {
  asks: string[];
  answers: string[];
  summary: { agent: string; throughSeq: number } | undefined;
  author: string;
  /** True for a rewind: earlier summaries may cover events that it rewinds. */
  isRewind: boolean;
} {
  const { author = '', branch, longRunningToolIds = [], actions } = event;
  const isUser = author === 'user';
  const { agent = '', throughSeq } = actions.compaction ?? {};
  return {
    asks: isUser ? [] : [...new Set(longRunningToolIds)],
    answers: isUser ? [...new Set(getFunctionResponses(event).flatMap(({ id }) => id ?? []))] : [],
    // Nobody outside of a branch reads a summary of the branch.
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
  const version = event.customMetadata?.[versionKey];
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
    ...(typeof version === 'string' && { version }),
    ...(branch !== undefined && { branch }),
    ...(path !== undefined && { path }),
  };
}

function kindOf(name: string): PendingCall['kind'] {
  const kinds = Object.entries(questionNames) as [keyof typeof questionNames, string][];
  return kinds.find(([, each]) => each === name)?.[0] ?? 'result';
}

/** Returns the agent of a replica, by the replica's id `agent_<name>-<pid>-<random>`. */
function agentOfReplica(replica: unknown): string | undefined {
  if (typeof replica !== 'string') return undefined;
  return /^agent_(.+)-\d+-[0-9a-f]{8}$/.exec(replica)?.[1];
}

/** Makes a short fingerprint of an answer. The order of keys does not matter. */
export function answerDigest(answer: unknown): string {
  return digestOf(answer).slice(0, 22);
}
