import type { Event } from '@agentmesh/protocol';
import type { WithNodeInfo } from '../events/agent-path.ts';
import type { Emit } from '../events/emit.ts';
import { logIndex } from '../events/log-index.ts';
import type { Session } from '../sessions/session.ts';
import { noteState } from './direct-writes.ts';
import { type HeardEvents, identify } from './heard-events.ts';
import { type JournalContext, journalOf, turnOf } from './journal.ts';
import { setStepMark } from './step-mark.ts';

interface CodeContext extends JournalContext {
  readonly session: Session;
  readonly heard: HeardEvents;
}

/** The agent whose code runs. */
interface CodedAgent {
  readonly name: string;
  readonly orchestrates: boolean;
}

/**
 * Runs user code. After a crash or a pause the code runs from the start again. Events that are already in
 * the log are not emitted again: the agent's own events, found by their number; the events of its children;
 * and, for an LLM agent with user code, the events of its flow.
 */
export async function replay(
  agent: CodedAgent,
  code: () => AsyncGenerator<Event, void, void>,
  context: CodeContext,
  emit: Emit<Event>,
): Promise<void> {
  const { path = `${agent.name}/own`, invocationId, session } = context;
  noteState(session);
  const first = (agent.orchestrates ? journalOf(context)[0]?.id : turnOf(context).start?.id) ?? invocationId;
  const passed = new Set<string>();
  let count = 0;
  for await (const each of code()) {
    // Events of the log are frozen.
    const event = Object.isFrozen(each) ? { ...each } : each;
    event.author ||= agent.name;
    const index = logIndex(session.events);
    const isOfLog = index.get(event.id)?.invocationId === invocationId;
    if (!event.partial && !context.heard.has(event.id) && !isOfLog) {
      const origin = context.heard.originOf(event);
      if (origin && !passed.has(origin.id) && !index.has(origin.id)) identify(event, origin);
      else {
        count += 1;
        sign(agent, context, event, `${first}/${path}/${count}`);
        if (index.has(event.id)) continue;
      }
    }
    passed.add(event.id);
    await emit(event);
  }
}

/** Gives an event of user code an id that is the same whenever the code runs again. */
function sign(
  { name, orchestrates }: CodedAgent,
  { path }: CodeContext,
  event: Event & WithNodeInfo,
  id: string,
): void {
  event.id = id;
  // Without a path of this agent, a copy of another agent's event would count as a step of that agent.
  if (path !== undefined) event.nodeInfo = { path };
  if (!orchestrates && event.author === name) setStepMark(event, { isOwnCode: true });
}
