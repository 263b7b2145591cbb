import type { Started } from '@agentmesh/bus';
import { cancelSchema, every, MeshError } from '@agentmesh/protocol';
import type { Mesh } from './mesh.ts';

/** Tells the work of this process when its invocation is cancelled. */
export interface Cancellations extends Started {
  /**
   * Returns a signal that aborts when the invocation is cancelled, with the reason as a MeshError
   * `cancelled`. Dispose it when the work is over.
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
  const prefix = subjects.invocationCancel(every).split('*')[0] ?? '';
  const keyOf = (invocationId: string) => subjects.invocationCancel(invocationId).slice(prefix.length);
  const subscription = await bus.subscribe(subjects.invocationCancel(every), (message) => {
    const controllers = atWork.get(message.subject.slice(prefix.length));
    if (!controllers) return;
    const { data } = cancelSchema.safeParse(readJson(message));
    if (!data) {
      log.warn({ subject: message.subject }, 'ignored an unreadable cancellation');
      return;
    }
    for (const controller of controllers) controller.abort(new MeshError('cancelled', data.reason));
  });
  return {
    signalOf(invocationId) {
      const key = keyOf(invocationId);
      const controller = new AbortController();
      const controllers = atWork.get(key) ?? new Set();
      atWork.set(key, controllers.add(controller));
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

function readJson(message: { json(): unknown }): unknown {
  try {
    return message.json();
  } catch {
    return undefined;
  }
}
