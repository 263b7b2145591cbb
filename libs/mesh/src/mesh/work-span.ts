import { type BaseAgent, LlmAgent } from '@agentmesh/agent';
import {
  type Event,
  type Headers,
  linkSpan,
  setFailed,
  startSpan,
  traceKey,
  traceparentOf,
  underSpan,
} from '@agentmesh/protocol';
import type { WorkKind } from './metrics.ts';

/** The facts about a piece of work for its span. */
export interface WorkFacts {
  /** The headers of the message that asked for the work: the span is below the span that they name. */
  headers: Headers;
  /** The agent that works; absent for a tool. */
  agent?: BaseAgent | undefined;
  app?: string | undefined;
  session?: string | undefined;
  invocationId?: string | undefined;
  callId?: string | undefined;
  job?: string | undefined;
  /** Id of the run that continues the invocation. */
  resume?: string | undefined;
  /** Number of transfers before the run. */
  hop?: number | undefined;
}

/** The span of a piece of work. */
export interface WorkSpan {
  readonly traceparent: string;
  /** Returns the headers of messages that are sent on behalf of the work. */
  under(headers: Headers): Headers;
  setAttempt(attempt: number): void;
  /** Links the span to the span that made the last of these events. */
  linkTo(events: readonly Event[]): void;
  end(outcome: string, code?: string): void;
}

const operations: Record<WorkKind, 'invoke_agent' | 'execute_tool'> = {
  run: 'invoke_agent',
  ask: 'invoke_agent',
  call: 'execute_tool',
  job: 'execute_tool',
};

/**
 * Begins the span of a piece of work, by OpenTelemetry's conventions for generative AI. Undefined while nobody
 * records spans.
 */
export function startWorkSpan(kind: WorkKind, name: string, facts: WorkFacts): WorkSpan | undefined {
  const span = startSpan(`${operations[kind]} ${name}`, facts.headers, () => ({
    kind: kind === 'run' || kind === 'job' ? 'consumer' : 'server',
    attributes: attributesOf(kind, name, facts),
  }));
  if (!span) return undefined;
  return {
    traceparent: traceparentOf(span.spanContext()),
    under: (each) => underSpan(each, span),
    setAttempt: (attempt) => void span.setAttribute('agentmesh.attempt', attempt),
    linkTo(events) {
      const last = events.findLast(({ customMetadata }) => customMetadata?.[traceKey] !== undefined);
      linkSpan(span, last?.customMetadata?.[traceKey]);
    },
    end(outcome, code) {
      span.setAttribute('agentmesh.outcome', outcome);
      // Work that is given back has not failed: another replica continues it.
      if (outcome === 'failed') setFailed(span, code ?? 'internal');
      span.end();
    },
  };
}

function attributesOf(kind: WorkKind, name: string, facts: WorkFacts) {
  const { agent, app, session, invocationId, callId, job, resume, hop } = facts;
  const operation = operations[kind];
  return {
    'gen_ai.operation.name': operation,
    ...(operation === 'invoke_agent'
      ? { 'gen_ai.agent.name': name, 'gen_ai.agent.id': name }
      : { 'gen_ai.tool.name': name, 'gen_ai.tool.type': 'function' }),
    ...(agent && modelOf(agent)),
    'agentmesh.work': kind,
    ...(app !== undefined && { 'agentmesh.app': app }),
    ...(session !== undefined && { 'gen_ai.conversation.id': session }),
    ...(invocationId !== undefined && { 'agentmesh.invocation_id': invocationId }),
    ...(callId !== undefined && { 'gen_ai.tool.call.id': callId }),
    ...(job !== undefined && { 'agentmesh.job': job }),
    ...(resume !== undefined && { 'agentmesh.resume': resume }),
    ...(hop !== undefined && { 'agentmesh.hop': hop }),
  };
}

/** Returns the model of an agent and its provider; nothing for an agent without a model. */
function modelOf(agent: BaseAgent) {
  if (!(agent instanceof LlmAgent)) return {};
  try {
    const { llm } = agent;
    return { 'gen_ai.provider.name': llm.providerName(), 'gen_ai.request.model': llm.model };
  } catch {
    // Its callbacks may answer in the place of a model.
    return {};
  }
}
