import { endingMs } from '../events/breathe.ts';
import { type Emit, ReaderGone } from '../events/emit.ts';

/**
 * Lets an agent work until it ends, its events cannot go on, or the signal is aborted. User code that ignores the
 * signal, or never settles, must not block the run: after an abort it gets {@link endingMs} outside of commits, and its
 * later events are dropped. An abort that comes after the agent's last event changes nothing: the run has ended.
 *
 * @throws the error of `emit`, or the reason of the signal
 */
export async function untilAborted<T>(
  signal: AbortSignal | undefined,
  emit: Emit<T>,
  work: (emit: Emit<T>) => Promise<void>,
): Promise<void> {
  let failure: { thrown: unknown } | undefined;
  let isEmitting = false;
  let timer: NodeJS.Timeout | undefined;
  const { promise: tooLate, resolve } = Promise.withResolvers<void>();
  const onAbort = () => {
    if (!isEmitting) timer ??= setTimeout(resolve, endingMs);
  };
  const emitOrEnd: Emit<T> = async (value) => {
    if (signal?.aborted) failure ??= { thrown: signal.reason };
    if (failure) throw new ReaderGone(failure.thrown);
    isEmitting = true;
    try {
      await emit(value);
    } catch (thrown) {
      failure = { thrown };
      throw new ReaderGone(thrown);
    } finally {
      isEmitting = false;
      if (signal?.aborted) onAbort();
    }
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) onAbort();
  const isOver = { ended: false };
  try {
    const working = work(emitOrEnd).then(() => {
      isOver.ended = true;
    });
    await (signal ? Promise.race([working, tooLate]) : working);
  } catch (thrown) {
    throw failure ? failure.thrown : signal?.aborted ? signal.reason : thrown;
  } finally {
    signal?.removeEventListener('abort', onAbort);
    clearTimeout(timer);
  }
  if (failure) throw failure.thrown;
  if (!isOver.ended) throw signal?.reason;
}
