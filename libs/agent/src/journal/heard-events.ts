import type { Event } from '@agentmesh/protocol';
import type { WithNodeInfo } from '../events/agent-path.ts';
import { stampPath } from '../events/agent-path.ts';
import { getFunctionCalls, getFunctionResponses } from '../events/event.ts';
import { type StepMark, setStepMark, stepMarkOf } from './step-mark.ts';

/** Identifies an event that an agent yielded. */
interface Origin {
  id: string;
  path: string | undefined;
  mark: StepMark | undefined;
}

/**
 * Remembers the events that user code receives from agents, and recognizes copies of them: events under a new
 * id that share the content, the calls or the responses of a remembered event.
 */
export class HeardEvents {
  readonly #ids = new Set<string>();
  readonly #byContent = new WeakMap<object, Origin>();
  readonly #byCalls = new Map<string, Origin>();

  /** Remembers an id alone. */
  addId(id: string): void {
    this.#ids.add(id);
  }

  add(event: Event & WithNodeInfo): void {
    if (event.partial) return;
    this.#ids.add(event.id);
    const origin = { id: event.id, path: event.nodeInfo?.path, mark: stepMarkOf(event) };
    if (event.content) this.#byContent.set(event.content, origin);
    const calls = callsKey(event);
    if (calls !== undefined) this.#byCalls.set(calls, origin);
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** Returns the original of a copied event; undefined for an event that user code made itself. */
  originOf(event: Event): Origin | undefined {
    const { content } = event;
    return (content && this.#byContent.get(content)) ?? this.#byCalls.get(callsKey(event) ?? '');
  }
}

/** Gives a copy the identity of its original. The log then holds that event as user code has changed it. */
export function identify(copy: Event & WithNodeInfo, { id, path, mark }: Origin): void {
  copy.id = id;
  if (path !== undefined) stampPath(copy, path);
  if (mark) setStepMark(copy, mark);
}

function callsKey(event: Event): string | undefined {
  const calls = getFunctionCalls(event).map(({ id }) => id);
  const responses = getFunctionResponses(event).map(({ id }) => id);
  return calls.length + responses.length > 0 ? JSON.stringify([calls, responses]) : undefined;
}
