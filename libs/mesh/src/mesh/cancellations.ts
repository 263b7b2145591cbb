import type { Started } from '@agentmesh/bus';
import { cancelSchema, every, MeshError } from '@agentmesh/protocol';
import type { Mesh } from './mesh.ts';

/** Tells the work of this process when its invocation is cancelled. */
export interface Cancellations extends Started {
  /**
   * Returns a signal that aborts when the invocation is cancelled, or was cancelled just before, with the
   * reason as a MeshError `cancelled`. Dispose it when the work is over.
   *
   * @param owner the app and the user of the invocation; absent for work that belongs to no user
   */
  signalOf(invocationId: string, owner?: Owner): CancelSignal;
}

interface Owner {
  app: string;
  user: string;
}

export interface CancelSignal extends Disposable {
  signal: AbortSignal;
  /** Cancels this work only. */
  cancel(reason: string): void;
}

/** Listens for cancellations of all invocations, with one subscription for all work of this process. */
export async function listenForCancellations({ bus, subjects, log }: Mesh): Promise<Cancellations> {
  const atWork = new Map<string, Set<{ controller: AbortController; owner: string | undefined }>>();
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
    const meant = nameOf(data);
    recent.note(`${key} ${meant ?? ''}`, reason);
    for (const { controller, owner = meant } of atWork.get(key) ?? [])
      if (meant === undefined || owner === meant) controller.abort(reason);
  });
  return {
    signalOf(invocationId, ofUser) {
      const owner = nameOf(ofUser);
      const key = keyOf(invocationId);
      const controller = new AbortController();
      const controllers = atWork.get(key) ?? new Set();
      const entry = { controller, owner };
      atWork.set(key, controllers.add(entry));
      const earlier = recent.of(`${key} `) ?? recent.of(`${key} ${owner ?? ''}`);
      if (earlier) controller.abort(earlier);
      return {
        signal: controller.signal,
        cancel: (reason) => controller.abort(new MeshError('cancelled', reason)),
        [Symbol.dispose]() {
          controllers.delete(entry);
          if (controllers.size === 0 && atWork.get(key) === controllers) atWork.delete(key);
        },
      };
    },
    stop: (options) => subscription.stop(options),
  };
}

/** Names the owner of an invocation; two users may have invocations of the same id. */
function nameOf({ app, user }: Partial<Owner> = {}): string | undefined {
  return app === undefined || user === undefined ? undefined : JSON.stringify([app, user]);
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
