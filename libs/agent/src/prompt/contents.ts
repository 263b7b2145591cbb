import type { Event } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import { isOnBranch } from '../events/agent-path.ts';
import { getFunctionResponses } from '../events/event.ts';
import { logIndex } from '../events/log-index.ts';
import type { ClientContext } from '../journal/client-input.ts';
import { isFromOther, shownContent } from './shown-event.ts';
import { shownLog } from './shown-log.ts';

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
  /** The facts that the client gives about the situation. */
  clientContext?: ClientContext | undefined;
}

/** Makes the model's view of the conversation from the events that this agent may see. It belongs to the log. */
export function buildContents(request: ContentsRequest): readonly Content[] {
  const { summary, events, invocationId, include, agentName, branch, clientContext } = request;
  const from = include === 'none' ? startOfTurn(request) : 0;
  const log = shownLog(from === 0 ? events : events.slice(from), { agentName, branch });
  const contents = log.contentsFor(invocationId, clientContext);
  return summary === undefined ? contents : [summaryContent(summary), ...contents];
}

function summaryContent(summary: string): Content {
  return { role: 'user', parts: [{ text: `Summary of the conversation before:\n${summary}` }] };
}

/**
 * Finds the start of the turn: the last event of another author. An answer to a call continues the turn of the call.
 * The search begins at the end, as the log may be long.
 */
function startOfTurn({ events, agentName, branch, invocationId }: ContentsRequest): number {
  const see = (event: Event) => (isOnBranch(event.branch, branch) ? shownContent(event) : undefined);
  const responsesIn = (event: Event) => getFunctionResponses({ content: see(event) });
  const startsTurn = (event: Event) =>
    (isFromOther(event, agentName) || (event.author === 'user' && responsesIn(event).length === 0)) &&
    see(event) !== undefined;
  const start = Math.max(events.findLastIndex(startsTurn), 0);
  const ofInvocation = events.slice(start).filter((event) => event.invocationId === invocationId);
  const answered = ofInvocation.flatMap(responsesIn);
  const index = logIndex(events);
  const callEvent = index.firstCallOf(
    answered.map(({ id }) => id),
    (event) => see(event) !== undefined,
  );
  const at = (callEvent && index.positionOf(callEvent.id)) ?? start;
  return at < start ? Math.max(events.slice(0, at + 1).findLastIndex(startsTurn), 0) : start;
}
