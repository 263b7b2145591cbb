import { type Event, MeshError } from '@agentmesh/protocol';
import type { BaseAgent } from '../base/base-agent.ts';
import { answerTexts, getFunctionCalls, getFunctionResponses, stringifyContent } from '../events/event.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { parseOutput } from '../prompt/output-schema.ts';

/** A call that an agent left open: it waits for an answer from outside. */
export interface OpenCall {
  id: string;
  name: string;
  args: Record<string, unknown>;
}

/** What an agent says when it is asked. */
export interface AgentAnswer {
  text: string;
  /** What the words mean, of an agent with an output schema. */
  output?: unknown;
  /** What it changed in the state, all scopes but `temp:`. */
  stateDelta: Record<string, unknown>;
  /** The files that it saved. */
  artifactDelta?: Record<string, number>;
  /** What it waits for; then its words are not its last. */
  openCalls?: OpenCall[];
}

/**
 * Reads an agent's answer off its events: the words of the last one that has any, a line for each text part, all it wrote to the state, and what
 * it left open.
 *
 * @param events what it did for the message that is answered
 * @param all where open calls are looked for; default `events`

 * @throws MeshError `internal` when the agent's last word is an error; `invalid_argument` when it does not fit its output schema.
 */
export function readAnswer(
  agent: BaseAgent,
  events: readonly Event[],
  all: readonly Event[] = events,
): AgentAnswer {
  const own = events.filter(({ author, partial }) => author !== 'user' && !partial);
  const last = own.findLast((event) => event.errorCode !== undefined || answerTexts(event).length > 0);
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
    stateDelta: Object.assign({}, ...own.map(({ actions }) => actions.stateDelta)),
    artifactDelta: Object.assign({}, ...own.map(({ actions }) => actions.artifactDelta)),
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
