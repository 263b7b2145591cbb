import { type Event, toJson } from '@agentmesh/protocol';
import type { LlmRequest } from '../base/base-llm.ts';
import type { InvocationContext } from '../base/invocation-context.ts';
import { changedSince, noteStep } from '../base/note-step.ts';
import { pathOf, stampPath } from '../events/agent-path.ts';
import { type LogIndex, logIndex, noteUnread } from '../events/log-index.ts';
import { insertEvents } from '../journal/insert-events.ts';
import { endsTurn, isProgress, isStep, setStepMark, stepAuthor, stepMarkOf } from '../journal/step-mark.ts';
import { assertNotEndless } from '../prompt/not-endless.ts';
import { type Session, unreadBefore } from '../sessions/session.ts';

/** An event as its agent yielded it. */
interface Yielded {
  event: Event;
  /** Length of the log when the event was yielded. */
  at: number;
  /** True when the event is in the log as it was yielded. */
  isLogged?: boolean;
}

/** The running agent's contexts for its next step and for its next prompt. */
export interface StepContexts {
  forStep: InvocationContext;
  forPrompt: InvocationContext;
}

/**
 * Remembers the events that a run of an agent's flow has yielded. Nobody may commit them (a tool that runs the
 * agent, a program without a runner), and user code between the agent and the log may drop an event, change it, or
 * yield it under another agent's name. The next step follows from the events as the agent yielded them. A prompt
 * shows the events of the log and the events that are not in it.
 */
export class StepMemory {
  readonly #context: InvocationContext;
  readonly #yielded: Yielded[] = [];
  #lastRequest: LlmRequest | undefined;

  constructor(context: InvocationContext) {
    this.#context = context;
  }

  /**
   * Records an event before other code sees it, and marks its meaning for code that may change it. Tells whether the
   * event is a step, from which another one may follow.
   */
  note(event: Event): boolean {
    if (event.partial) return false;
    const { isFiltered, session, flowRun, path, agent } = this.#context;
    const isNewStep = isStep(event) && !isProgress(event);
    if (path !== undefined) stampPath(event, path);
    if (isFiltered) {
      if (flowRun > 1) setStepMark(event, { run: flowRun });
      noteStep(this.#context, event, isNewStep ? endsTurn(agent, event) : undefined);
    }
    if (this.#context.isDirect) return isNewStep;
    this.#yielded.push({ event: JSON.parse(toJson(event, 'the event')), at: session.events.length });
    return isNewStep;
  }

  /** Records a request to the model. @throws MeshError `failed_precondition`, see {@link assertNotEndless} */
  noteRequest(request: LlmRequest): void {
    assertNotEndless(this.#context, request, this.#lastRequest);
    this.#lastRequest = request;
  }

  contexts(): StepContexts {
    const context = this.#context;
    if (this.#yielded.length === 0 && !context.held) return { forStep: context, forPrompt: context };
    const index = logIndex(context.session.events);
    const missing = inOrder(this.#yielded, index).filter(({ event }) => !index.has(event.id));
    const changed = this.#yielded.filter((each) => {
      const logged = each.isLogged ? undefined : index.get(each.event.id);
      const isChanged = changedSince(each.event, logged);
      each.isLogged ||= logged !== undefined && !isChanged;
      return isChanged;
    });
    // The session copy of a held step holds the originals; the log holds the events as user code of the
    // asking process has changed them.
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

/**
 * Returns the ids of dropped events that the agent must not see. User code of the asking process has dropped
 * them, and they come from other agents or from earlier runs of this agent. In a single process the agent
 * does not see them either.
 */
function keptBackFrom({ held, agent, path, flowRun }: InvocationContext): Set<string> {
  const isOwn = (event: Event) =>
    stepAuthor(event) === agent.name && pathOf(event) === path && (stepMarkOf(event)?.run ?? 1) === flowRun;
  const others = held?.uncommitted.filter(({ event, isKeptBack }) => isKeptBack && !isOwn(event)) ?? [];
  return new Set(others.map(({ event }) => event.id));
}

/**
 * Assigns log positions to yielded events so that they keep their order. An event may have been committed
 * later than an event that was yielded after it.
 */
function inOrder(yielded: readonly Yielded[], index: LogIndex): Yielded[] {
  let after = 0;
  return yielded.map(({ event, at }) => {
    after = Math.max(after, at, (index.positionOf(event.id) ?? -1) + 1);
    return { event, at: after };
  });
}

/** Makes a context over a changed log: with more events, with some events replaced, and without some. */
function withLog(
  context: InvocationContext,
  more: readonly Yielded[],
  replaced: ReadonlyMap<string, Event>,
  without: ReadonlySet<string> = new Set(),
): InvocationContext {
  const { session } = context;
  const events = insertEvents(session.events, more, (event) =>
    without.has(event.id) ? undefined : (replaced.get(event.id) ?? event),
  );
  noteUnread(events, unreadBefore(session));
  // The state is still the state of the session: tools and callbacks write to it.
  const view: Session = Object.create(session, {
    events: { value: events, enumerable: true },
    seq: { value: unreadBefore(session) + events.length, enumerable: true },
  });
  return context.with({ session: view });
}
