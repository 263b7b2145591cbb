import type { Message, Started } from '@agentmesh/bus';
import {
  assertKnownFields,
  cancelSchema,
  decodeToken,
  every,
  header,
  MeshError,
  parse,
} from '@agentmesh/protocol';
import type { z } from 'zod';
import type { Mesh } from './mesh.ts';
import { serviceName } from './service-name.ts';

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
export async function listenForCancellations(mesh: Mesh): Promise<Cancellations> {
  const { bus, subjects, log } = mesh;
  const atWork = new Map<string, Set<{ controller: AbortController; owner: string | undefined }>>();
  const recent = recentReasons();
  const all = subjects.invocationCancel(every, every);
  const at = all.split('.').indexOf('*');
  const keyIn = (subject: string) => subject.split('.')[at] ?? '';
  const keyOf = (invocationId: string) => keyIn(subjects.invocationCancel(invocationId, every));
  const take = (key: string, data: Cancel) => {
    const reason = new MeshError('cancelled', data.reason);
    const meant = nameOf(data);
    recent.note(`${key} ${meant ?? ''}`, reason);
    for (const { controller, owner = meant } of atWork.get(key) ?? [])
      if (meant === undefined || owner === meant) controller.abort(reason);
  };
  const subscription = await bus.subscribe(all, (message) => {
    const key = keyIn(message.subject);
    let data: ReturnType<typeof readCancel>;
    try {
      data = readCancel(message);
    } catch (err) {
      log.warn({ err, subject: message.subject }, 'ignored an invalid cancellation');
      return;
    }
    if (!isFromAgent(message.subject)) return take(key, data);
    confirmed(mesh, decodeToken(key), data).then(
      (isTrue) => {
        if (isTrue) take(key, data);
        else log.warn({ subject: message.subject }, 'ignored a cancellation that the store does not know');
      },
      (error) => log.warn({ err: error, subject: message.subject }, 'could not look up a cancellation'),
    );
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

type Cancel = z.infer<typeof cancelSchema>;

/** Tells whether an agent has published a message: the last token of the subject names the publisher. */
function isFromAgent(subject: string): boolean {
  return subject.slice(subject.lastIndexOf('.') + 1).startsWith(serviceName('agent', ''));
}

/**
 * Tells whether an invocation was cancelled or has ended. An agent marks it in the store before it publishes the
 * cancellation, and can do so only for the apps in which it works. The mark is also read by every process that
 * takes the run or commits to it.
 */
async function confirmed(mesh: Mesh, invocationId: string, { app, user }: Cancel): Promise<boolean> {
  if (app === undefined || user === undefined) return false;
  const ref = { appName: app, userId: user, sessionId: '', invocationId };
  const { cancelled, status } = await mesh.sessions.invocations.get(ref);
  return cancelled !== undefined || status !== 'running';
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

/**
 * Reads a cancellation. A misspelled field of another program is refused: without its user, a cancellation is
 * for the invocations of all users with this id.
 *
 * @throws MeshError `invalid_argument`
 */
function readCancel(message: Message) {
  const data = message.json();
  if (message.headers[header.replica] === undefined)
    assertKnownFields(cancelSchema, data, 'the cancellation');
  return parse(cancelSchema, data, 'the cancellation');
}
