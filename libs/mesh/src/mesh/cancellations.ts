import type { Started } from '@agentmesh/bus';
import { cancelSchema, every, MeshError } from '@agentmesh/protocol';
import type { Mesh } from './mesh.ts';

/** Tells the work of this process when its invocation is cancelled. */
export interface Cancellations extends Started {
  /**
   * Returns a signal that aborts when the invocation is cancelled, or was cancelled just before, with the
   * reason as a MeshError `cancelled`. Dispose it when the work is over.
   */
  signalOf(invocationId: string): CancelSignal;
}

export interface CancelSignal extends Disposable {
  signal: AbortSignal;
  /** Cancels this work only. */
  cancel(reason: string): void;
}

/** Listens for cancellations of all invocations, with one subscription for all work of this process. */
export async function listenForCancellations({ bus, subjects, log }: Mesh): Promise<Cancellations> {
  const atWork = new Map<string, Set<AbortController>>();
  const recent = recentReasons();
  const all = subjects.invocationCancel(every, every);
  const at = all.split('.').indexOf('*');
  const keyIn = (subject: string) => subject.split('.')[at] ?? '';
  const keyOf = (invocationId: string) => keyIn(subjects.invocationCancel(invocationId, every));
  const subscription = await bus.subscribe(all, (message) => {
    const key = keyIn(message.subject);
    const { data } = cancelSchema.safeParse(readJson(message));
    if (!data) {
      log.warn({ subject: message.subject }, 'ignored an unreadable cancellation');
      return;
    }
    const reason = new MeshError('cancelled', data.reason);
    recent.note(key, reason);
    for (const controller of atWork.get(key) ?? []) controller.abort(reason);
  });
  return {
    signalOf(invocationId) {
      const key = keyOf(invocationId);
      const controller = new AbortController();
      const controllers = atWork.get(key) ?? new Set();
      atWork.set(key, controllers.add(controller));
      const earlier = recent.of(key);
      if (earlier) controller.abort(earlier);
      return {
        signal: controller.signal,
        cancel: (reason) => controller.abort(new MeshError('cancelled', reason)),
        [Symbol.dispose]() {
          controllers.delete(controller);
          if (controllers.size === 0 && atWork.get(key) === controllers) atWork.delete(key);
        },
      };
    },
    stop: (options) => subscription.stop(options),
  };
}

/** Time for which a cancellation is remembered, in ms: work that was sent before it may come after it. */
const rememberMs = 30_000;

/** Returns a memory of the latest cancellations. */
function recentReasons() {
  // In the order of age.
  const reasons = new Map<string, { reason: MeshError; until: number }>();
  return {
    note(key: string, reason: MeshError): void {
      const now = performance.now();
      for (const [old, { until }] of reasons) {
        if (until > now) break;
        reasons.delete(old);
      }
      reasons.delete(key);
      reasons.set(key, { reason, until: now + rememberMs });
    },
    of(key: string): MeshError | undefined {
      const { reason, until = 0 } = reasons.get(key) ?? {};
      return until > performance.now() ? reason : undefined;
    },
  };
}

function readJson(message: { json(): unknown }): unknown {
  try {
    return message.json();
  } catch {
    return undefined;
  }
}
