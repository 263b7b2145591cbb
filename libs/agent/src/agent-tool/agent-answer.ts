import { type Event, MeshError } from '@agentmesh/protocol';
import type { BaseAgent } from '../base/base-agent.ts';
import { answerTexts, getFunctionCalls, getFunctionResponses, stringifyContent } from '../events/event.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { parseOutput } from '../prompt/output-schema.ts';

/** A pending call of an agent: it waits for an answer from outside. */
export interface OpenCall {
  id: string;
  name: string;
  args: Record<string, unknown>;
}

/** The answer of an agent to an ask. */
export interface AgentAnswer {
  text: string;
  /** The answer's value, for an agent with an output schema. */
  output?: unknown;
  /** The state that the agent changed, in all scopes but `temp:`. */
  stateDelta: Record<string, unknown>;
  /** The files that the agent saved. */
  artifactDelta?: Record<string, number>;
  /** The calls for which the agent waits. When there are any, the text is not its final answer. */
  openCalls?: OpenCall[];
}

/**
 * Reads an agent's answer from its events: the text of the last event that has any (one line for each text
 * part), all state changes, and the pending calls.
 *
 * @param events the events of the agent for the message that it answers
 * @param all the events in which pending calls are searched; default `events`
 * @throws MeshError `internal` when the agent ended with an error; `invalid_argument` when the answer does
 * not fit the agent's output schema.
 */
export function readAnswer(
  agent: BaseAgent,
  events: readonly Event[],
  all: readonly Event[] = events,
): AgentAnswer {
  const agentEvents = events.filter(({ author, partial }) => author !== 'user' && !partial);
  const last = agentEvents.findLast(
    (event) => event.errorCode !== undefined || answerTexts(event).length > 0,
  );
  if (last?.errorCode !== undefined) {
    throw new MeshError('internal', `agent ${agent.name} failed: ${last.errorMessage ?? last.errorCode}`);
  }
  const openCalls = openCallsOf(all);
  const text = last ? answerTexts(last).join('\n') : '';
  const schema = agent instanceof LlmAgent && text !== '' ? agent.outputSchema : undefined;
  return {
    text,
    ...(schema &&
      openCalls.length === 0 && { output: parseOutput(schema, last ? stringifyContent(last) : '') }),
    stateDelta: Object.assign({}, ...agentEvents.map(({ actions }) => actions.stateDelta)),
    artifactDelta: Object.assign({}, ...agentEvents.map(({ actions }) => actions.artifactDelta)),
    ...(openCalls.length > 0 && { openCalls }),
  };
}

function openCallsOf(events: readonly Event[]): OpenCall[] {
  const closed = new Set(
    events.flatMap((event) =>
      getFunctionResponses(event)
        .filter(({ willContinue }) => willContinue === false || (event.author === 'user' && !willContinue))
        .map(({ id }) => id),
    ),
  );
  return events.flatMap((event) =>
    getFunctionCalls(event).flatMap(({ id, name = '', args = {} }) =>
      id !== undefined && event.longRunningToolIds?.includes(id) && !closed.has(id)
        ? [{ id, name, args }]
        : [],
    ),
  );
}
