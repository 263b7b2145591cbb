import type { InvocationRef } from '@agentmesh/agent/internal';
import type { Message, Started } from '@agentmesh/bus';
import { invocationIdOf, newStarter, type SessionRef, starterOf, watchOf } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';

export interface NewsListener {
  onMessage: (message: Message) => void;
  /** Called when messages may have been missed. */
  onGap: () => void;
}

/** The news of all runs that this process starts: one subscription hears them all. */
class RunNews {
  readonly starter = newStarter();
  readonly #mesh: Mesh;
  /** The listeners, by the pattern of the subjects that they want. */
  readonly #listeners = new Map<string, Set<NewsListener>>();
  #subscription: Promise<Started> | undefined;

  constructor(mesh: Mesh) {
    this.#mesh = mesh;
  }

  /** Listens to one run of this process. Resolves when the server knows the subscription. */
  async listen(pattern: string, listener: NewsListener): Promise<() => void> {
    const listeners = this.#listeners.get(pattern) ?? new Set();
    this.#listeners.set(pattern, listeners.add(listener));
    const remove = () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(pattern) === listeners) this.#listeners.delete(pattern);
    };
    try {
      this.#subscription ??= this.#subscribe();
      await this.#subscription;
      return remove;
    } catch (error) {
      remove();
      throw error;
    }
  }

  #subscribe(): Promise<Started> {
    const { bus, subjects } = this.#mesh;
    // The next run subscribes again.
    const forget = () => {
      if (this.#subscription === subscribing) this.#subscription = undefined;
    };
    const subscribing = bus.subscribe(
      subjects.starterWatch(this.starter),
      (message) => {
        for (const { onMessage } of this.#listeners.get(watchOf(message.subject)) ?? []) onMessage(message);
      },
      {
        skipsLarge: true,
        onGap: (subject) => this.#reportGap(subject),
        onLost: () => {
          forget();
          this.#reportGap();
        },
      },
    );
    subscribing.catch(forget);
    return subscribing;
  }

  /** Tells the listeners that messages may be missing: those of a subject, or all. */
  #reportGap(subject?: string) {
    const concerned =
      subject === undefined ? this.#listeners.values() : [this.#listeners.get(watchOf(subject)) ?? []];
    for (const listeners of concerned) for (const { onGap } of listeners) onGap();
  }
}

const newsOf = new WeakMap<Mesh['bus'], RunNews>();

function runNewsOf(mesh: Mesh): RunNews {
  const known = newsOf.get(mesh.bus);
  if (known) return known;
  const news = new RunNews(mesh);
  newsOf.set(mesh.bus, news);
  return news;
}

/** Makes the id of an invocation that this process starts in a session. */
export function newInvocationId(mesh: Mesh, session: SessionRef): string {
  return invocationIdOf(runNewsOf(mesh).starter, session);
}

/**
 * Listens to the events and news of an invocation. Resolves when the server knows the subscription. The runs that
 * this process started share one subscription, which lives as long as the bus: each change of a subscription costs
 * the server a comparison with all imports of the account. Runs that were started elsewhere have one of their own.
 *
 * @returns a function that stops listening
 */
export async function listenToRun(
  mesh: Mesh,
  ref: InvocationRef,
  listener: NewsListener,
): Promise<() => void> {
  const pattern = mesh.subjects.invocationWatch(ref, ref.invocationId);
  const news = runNewsOf(mesh);
  if (starterOf(ref.invocationId) === news.starter) return await news.listen(pattern, listener);
  const { onMessage, onGap } = listener;
  const subscription = await mesh.bus.subscribe(pattern, onMessage, { onGap, skipsLarge: true });
  return () => void subscription.stop();
}
