import { type Event, toJson } from '@agentmesh/protocol';
import type { InvocationContext } from '../base/invocation-context.ts';
import { changedSince, noteStep } from '../base/note-step.ts';
import { pathOf, stampPath } from '../events/agent-path.ts';
import { type LogIndex, logIndex, noteUnread } from '../events/log-index.ts';
import { endsTurn, isProgress, isStep, setStepMark, stepAuthor, stepMarkOf } from '../journal/step-mark.ts';
import { type Session, unreadBefore } from '../sessions/session.ts';

/** An event as its agent yielded it. */
interface Yielded {
  event: Event;
  /** Length of the log at that time. */
  at: number;
}

/** The running agent's context as its next step and its next prompt see it. */
export interface StepContexts {
  forStep: InvocationContext;
  forPrompt: InvocationContext;
}

/**
 * Remembers what a run of an agent's flow has yielded, where code of the user's stands between the agent and the log: plugins and own agents may keep
 * an event back, change it, or make it another agent's. The next step follows from the event as the agent yielded it. A prompt shows what
 * the log holds, and what was kept back from it.
 */
export class StepMemory {
  readonly #context: InvocationContext;
  readonly #yielded: Yielded[] = [];

  constructor(context: InvocationContext) {
    this.#context = context;
  }

  /** Takes note of an event before anybody else sees it, and marks what it means. */
  note(event: Event): void {
    const { isFiltered, session, flowRun, path } = this.#context;
    if (event.partial || !isFiltered) return;
    if (path !== undefined) stampPath(event, path);
    if (flowRun > 1) setStepMark(event, { run: flowRun });
    const ends = isStep(event) && !isProgress(event) ? endsTurn(this.#context.agent, event) : undefined;
    noteStep(this.#context, event, ends);
    this.#yielded.push({ event: JSON.parse(toJson(event, 'the event')), at: session.events.length });
  }

  contexts(): StepContexts {
    const context = this.#context;
    const index = logIndex(context.session.events);
    const missing = inOrder(this.#yielded, index).filter(({ event }) => !index.has(event.id));
    const changed = this.#yielded.filter(({ event }) => changedSince(event, index.get(event.id)));
    // The copy that a held step works on holds originals; in the log they are as the asker's code has made them.
    const edited = context.held?.edited ?? new Map();
    const originals = new Map(changed.map(({ event }) => [event.id, event]));
    const keptBack = keptBackFrom(context);
    const isAsLogged = missing.length + edited.size + keptBack.size === 0;
    return {
      forStep: missing.length + originals.size > 0 ? withLog(context, missing, originals) : context,
      forPrompt: isAsLogged ? context : withLog(context, missing, edited, keptBack),
    };
  }
}

/** Ids of the events of other agents, and of earlier runs of this one, that the asker of a held step has kept back: in one process the agent sees none of them. */
function keptBackFrom({ held, agent, path, flowRun }: InvocationContext): Set<string> {
  const isOwn = (event: Event) =>
    stepAuthor(event) === agent.name && pathOf(event) === path && (stepMarkOf(event)?.run ?? 1) === flowRun;
  const others = held?.uncommitted.filter(({ event, isKeptBack }) => isKeptBack && !isOwn(event)) ?? [];
  return new Set(others.map(({ event }) => event.id));
}

/** Places of yielded events in the log: none stands before what was yielded before it, which may have been committed later. */
function inOrder(yielded: readonly Yielded[], index: LogIndex): Yielded[] {
  let after = 0;
  return yielded.map(({ event, at }) => {
    after = Math.max(after, at, (index.positionOf(event.id) ?? -1) + 1);
    return { event, at: after };
  });
}

/** The same context over a log that holds some events more, some as they were, and some not. */
function withLog(
  context: InvocationContext,
  more: readonly Yielded[],
  replaced: ReadonlyMap<string, Event>,
  without: ReadonlySet<string> = new Set(),
): InvocationContext {
  const { session } = context;
  const events: Event[] = [];
  const rest = [...more];
  for (const [at, event] of session.events.entries()) {
    while (rest[0] && rest[0].at <= at) events.push((rest.shift() as Yielded).event);
    if (!without.has(event.id)) events.push(replaced.get(event.id) ?? event);
  }
  events.push(...rest.map(({ event }) => event));
  noteUnread(events, unreadBefore(session));
  // Its state stays that of the session: tools and callbacks write there.
  const view: Session = Object.create(session, {
    events: { value: events, enumerable: true },
    seq: { value: unreadBefore(session) + events.length, enumerable: true },
  });
  return context.with({ session: view });
}
