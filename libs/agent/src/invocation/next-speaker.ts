import type { BaseAgent } from '../base/base-agent.ts';
import { getFunctionResponses } from '../events/event.ts';
import { type LogIndex, logIndex } from '../events/log-index.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { stepAuthor } from '../journal/step-mark.ts';
import type { Session } from '../sessions/session.ts';

/**
 * Finds the agent of this process that speaks next: the agent whose question is answered; else the last
 * speaker among the agents that keep a conversation; else the root. Between processes `speakerOf` of
 * `@agentmesh/mesh` applies the same rule to cards.
 */
export function nextSpeaker(root: BaseAgent, { events }: Session, invocationId: string): BaseAgent {
  const index = logIndex(events);
  const last = events.at(-1);
  const answered = last?.author === 'user' ? getFunctionResponses(last)[0]?.id : undefined;
  if (answered !== undefined) {
    const asking = index.lastCallOf([answered]);
    const asker = localAgent(root, asking && stepAuthor(asking));
    if (asker) return runnerOf(asker, root);
  }
  const speaker = lastSpeaker(root, index);
  for (const event of index.ofInvocation(invocationId).reverse()) {
    if ((index.positionOf(event.id) ?? -1) < speaker.position) break;
    // Within the invocation a transfer names the next agent. After older invocations the last speaker
    // continues, if it may.
    const next = localAgent(root, event.actions.transferToAgent) ?? localAgent(root, event.author);
    if (next) return runnerOf(next, root);
  }
  return speaker.agent;
}

/**
 * Returns the last speaker of the agents of this process that keep the conversation, with its position in the
 * log.
 */
function lastSpeaker(root: BaseAgent, index: LogIndex): { agent: BaseAgent; position: number } {
  const speakers = [...root.tree()].flatMap((agent) => {
    const position = index.lastBy(agent.name);
    return position >= 0 && !agent.isRemote && keepsConversation(agent, root) ? [{ agent, position }] : [];
  });
  return speakers.reduce((one, other) => (other.position > one.position ? other : one), {
    agent: root,
    position: -1,
  });
}

/**
 * Returns the agent to run: the outermost workflow around the agent, which continues after it, or the agent
 * itself.
 */
function runnerOf(agent: BaseAgent, root: BaseAgent): BaseAgent {
  let runner = agent;
  for (let above = agent; above !== root && above.parentAgent; ) {
    above = above.parentAgent;
    if (above.orchestrates) runner = above;
  }
  return runner;
}

function localAgent(root: BaseAgent, name: string | undefined): BaseAgent | undefined {
  const agent = name === undefined ? undefined : root.findAgent(name);
  return agent?.isRemote ? undefined : agent;
}

/**
 * Tells whether an agent keeps the conversation. Such an agent must be able to give the conversation back:
 * the agent and all its ancestors are LLM agents that may transfer to their parent.
 */
function keepsConversation(agent: BaseAgent, root: BaseAgent): boolean {
  if (agent === root) return true;
  for (let each = agent; each !== root; ) {
    if (!(each instanceof LlmAgent) || each.disallowTransferToParent || !each.parentAgent) return false;
    each = each.parentAgent;
  }
  return root instanceof LlmAgent;
}
