import type { BaseAgent } from '../base/base-agent.ts';
import { getFunctionResponses } from '../events/event.ts';
import { type LogIndex, logIndex } from '../events/log-index.ts';
import { LlmAgent } from '../flow/llm-agent.ts';
import { stepAuthor } from '../journal/step-mark.ts';
import type { Session } from '../sessions/session.ts';

/**
 * Finds the agent of this process that speaks next: the one that asked for what came, else the one that spoke last of those that keep a conversation, else the
 * first. Between processes `speakerOf` of `@agentmesh/mesh` decides by the same rule, on cards.
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
    // Within the invocation a transfer names its next agent; of older ones the last speaker is asked again if it may be.
    const next = localAgent(root, event.actions.transferToAgent) ?? localAgent(root, event.author);
    if (next) return runnerOf(next, root);
  }
  return speaker.agent;
}

/** The agent that spoke last of those of this process which keep the conversation, and where in the log. */
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

/** An agent within a workflow is run by the workflow, which then goes on behind it: the outermost one. */
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

/** An agent keeps the conversation only if it could give it back: it and all above it are LLM agents that may transfer up. */
function keepsConversation(agent: BaseAgent, root: BaseAgent): boolean {
  if (agent === root) return true;
  for (let each = agent; each !== root; ) {
    if (!(each instanceof LlmAgent) || each.disallowTransferToParent || !each.parentAgent) return false;
    each = each.parentAgent;
  }
  return root instanceof LlmAgent;
}
