import type { Event } from '@agentmesh/protocol';
import { endingMs } from '../events/breathe.ts';

/**
 * Yields the events of an agent until the signal is aborted. User code that ignores the signal, or never
 * settles, must not block the run. Its later events are dropped. An abort that comes after the agent's last
 * event changes nothing: the run has ended.
 *
 * @throws the reason of the signal
 */
export function untilAborted(
  events: AsyncGenerator<Event, void, void>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Event, void, void> {
  return signal ? abortable(events, signal) : events;
}

async function* abortable(
  events: AsyncGenerator<Event, void, void>,
  signal: AbortSignal,
): AsyncGenerator<Event, void, void> {
  let isOver = false;
  try {
    for (;;) {
      const step = await orAborted(events.next(), signal);
      isOver = step.done === true;
      if (step.done) return;
      yield step.value;
    }
  } finally {
    if (!isOver) {
      const end = events.return().catch(() => {});
      // A generator that hangs would never end, so nobody waits for it after an abort.
      if (!signal.aborted) await end;
    }
  }
}

/**
 * Waits for the next step of an agent. After an abort the only step that counts is the end.
 *
 * @throws the reason of the signal
 */
async function orAborted(
  next: Promise<IteratorResult<Event, void>>,
  signal: AbortSignal,
): Promise<IteratorResult<Event, void>> {
  // Nobody reads a promise that settles after the abort.
  next.catch(() => {});
  const { promise: tooLate, resolve } = Promise.withResolvers<undefined>();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = () => {
    timer = setTimeout(resolve, endingMs, undefined);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    const step = await Promise.race([next, tooLate]);
    if (signal.aborted && !step?.done) throw signal.reason;
    return step as IteratorResult<Event, void>;
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    clearTimeout(timer);
  }
}
