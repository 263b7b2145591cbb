import type { Event } from '@agentmesh/protocol';
import type { FunctionCall } from '@google/genai';
import type { BaseAgent } from '../base-agent.ts';
import { getFunctionCalls, getFunctionResponses, isFinalResponse } from '../event.ts';
import type { InvocationContext } from '../invocation-context.ts';
import { turnOf } from '../journal.ts';

/** What an agent does next, as the log of the invocation says. */
export type Step =
  | { kind: 'call-model' }
  | { kind: 'call-tools'; event: Event; calls: FunctionCall[] }
  | { kind: 'transfer'; to: string }
  | { kind: 'done' };

/**
 * Reads the next step from the committed events alone, so that any process can go on where another one stopped: nothing that
 * has its result in the log is done again.
 */
export function nextStep(context: InvocationContext): Step {
  const { agent } = context;
  const { start, events } = turnOf(context);
  const speaker = handedTo(events) ?? askerOf(start, context);
  if (speaker !== undefined && speaker !== agent.name) return { kind: 'transfer', to: speaker };
  const said = events.filter((event) => isWord(event) && !isProgress(event));
  const last = said.at(-1);
  if (last === undefined || last.author !== agent.name) return { kind: 'call-model' };
  if (getFunctionCalls(last).length > 0) {
    const calls = openCalls(last, events);
    return calls.length > 0 ? { kind: 'call-tools', event: last, calls } : { kind: 'done' };
  }
  if (getFunctionResponses(last).length > 0 && !isFinalResponse(last)) return { kind: 'call-model' };
  return { kind: 'done' };
}

function handedTo(events: readonly Event[]): string | undefined {
  return events.findLast(({ actions }) => actions.transferToAgent !== undefined)?.actions.transferToAgent;
}

/** An answer goes to who asked, if that is an agent below this one. */
function askerOf(start: Event | undefined, { agent, session }: InvocationContext): string | undefined {
  const answered = start?.author === 'user' ? getFunctionResponses(start).map(({ id }) => id) : [];
  if (answered.length === 0) return undefined;
  const asking = session.events.findLast((event) =>
    getFunctionCalls(event).some(({ id }) => answered.includes(id)),
  );
  const asker = asking?.author === undefined ? undefined : agent.findSubAgent(asking.author);
  return asker && entryTo(asker, agent);
}

/** What runs an agent for another one above it: the outermost workflow between the two, or the agent itself. */
function entryTo(asker: BaseAgent, above: BaseAgent): string {
  let entry = asker;
  for (let agent = asker.parentAgent; agent && agent !== above; agent = agent.parentAgent) {
    if (agent.orchestrates) entry = agent;
  }
  return entry.name;
}

/** State changes alone are no step. */
function isWord({ content, errorCode, actions }: Event): boolean {
  return (
    (content?.parts?.length ?? 0) > 0 || errorCode !== undefined || actions.transferToAgent !== undefined
  );
}

/** A tool that is still at work has said how far it is. */
function isProgress(event: Event): boolean {
  const responses = getFunctionResponses(event);
  return responses.length > 0 && responses.every(({ willContinue }) => willContinue === true);
}

function openCalls(event: Event, events: readonly Event[]): FunctionCall[] {
  const responses = events.flatMap(getFunctionResponses).filter(({ willContinue }) => willContinue !== true);
  const answered = new Set(responses.map(({ id }) => id));
  return getFunctionCalls(event).filter(({ id }) => !answered.has(id));
}
