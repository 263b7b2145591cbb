import { failSpan, startSpan, underSpan } from '@agentmesh/protocol';
import type { Session } from '../sessions/session.ts';

/** The facts about the run of an agent for its span; an `InvocationContext` has them. */
export interface AgentRunFacts {
  session: Session;
  invocationId: string;
  /** The headers that name the span above; without a span in them, the active span of the process. */
  carrier: Readonly<Record<string, string>>;
  attempt: number;
  /** Work that somebody aborts has not failed. */
  abortSignal?: AbortSignal | undefined;
}

/** The span of an agent that runs in this process. */
export interface AgentSpan extends Disposable {
  /** The headers of messages that are sent on behalf of the agent. */
  carrier: Readonly<Record<string, string>>;
  fail(thrown: unknown): void;
}

/**
 * Begins the span of an agent that this process runs, by OpenTelemetry's conventions for generative AI. Undefined while
 * nobody records spans.
 */
export function startAgentSpan(
  name: string,
  { session, invocationId, carrier, attempt, abortSignal }: AgentRunFacts,
): AgentSpan | undefined {
  const span = startSpan(`invoke_agent ${name}`, carrier, () => ({
    kind: 'internal',
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': name,
      'gen_ai.agent.id': name,
      'gen_ai.conversation.id': session.id,
      'agentmesh.app': session.appName,
      'agentmesh.invocation_id': invocationId,
      'agentmesh.attempt': attempt,
    },
  }));
  return (
    span && {
      carrier: underSpan({ ...carrier }, span),
      fail(thrown) {
        if (!abortSignal?.aborted) failSpan(span, thrown);
      },
      [Symbol.dispose]: () => span.end(),
    }
  );
}
