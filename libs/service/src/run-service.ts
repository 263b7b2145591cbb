import { constants } from 'node:os';
import { MeshError } from '@agentmesh/protocol';
import { causeMessages } from './error-record.ts';
import { returnIdleMemory } from './idle-memory.ts';
import type { Logger } from './logger.ts';
import { isSending } from './traces/sends.ts';

export interface RunOptions {
  name: string;
  /**
   * Starts the service and returns the object that stops it. Owners go into a stack in the order of their
   * start, so that they stop in reverse, also when the start fails half way: `await using owners = new
   * AsyncDisposableStack(); owners.use(…); return owners.move();`. The signal is aborted when the process
   * must stop before the start is complete.
   */
  start(context: { signal: AbortSignal }): Promise<AsyncDisposable>;
  log: Logger;
  /** Longest time from the signal to the end, in ms; default 25 s. */
  graceMs?: number;
}

/** Time for which a forgotten handle may keep the process after all owners are stopped, in ms. */
const leftoverMs = 1_000;

function logStartFailure(log: Logger, name: string, error: unknown): void {
  if (!(error instanceof MeshError)) {
    log.error({ err: error }, `${name} could not start`);
    return;
  }
  // An expected error, such as an unreachable server: people need its message, not its stack.
  const { code, message, details } = error;
  const causes = causeMessages(error);
  log.error(
    { code, reason: message, ...(details && { details }), ...(causes.length > 0 && { causes }) },
    `${name} could not start`,
  );
}

/**
 * Watches for the reasons to end the process: signals, and errors that nobody caught. Keeps the exit code.
 */
function watchProcess(log: Logger, graceMs: number) {
  const stop = new AbortController();
  const state = { exitCode: 0 };
  let deadline: NodeJS.Timeout | undefined;

  const request = () => {
    if (stop.signal.aborted) return;
    deadline = setTimeout(() => {
      log.error({ graceMs, open: process.getActiveResourcesInfo() }, 'not stopped within the grace period');
      process.exit(1);
    }, graceMs);
    stop.abort(new MeshError('cancelled', 'the process was told to stop'));
  };
  let signals = 0;
  const onSignal = (name: 'SIGTERM' | 'SIGINT') => {
    signals += 1;
    if (signals > 1) {
      log.warn({ signal: name }, 'second signal: exiting at once');
      process.exit(128 + constants.signals[name]);
    }
    log.info({ signal: name }, 'stopping');
    request();
  };
  const onDefect = (err: unknown) => {
    log.fatal({ err }, 'an error was not caught: stopping');
    state.exitCode = 1;
    process.exitCode = 1;
    request();
  };
  // Warnings of code that has no log, about parts that the process can do without, such as a memory that does
  // not answer.
  const onWarning = (warning: Error & { code?: string }) => {
    if (warning.code?.startsWith('AGENTMESH_')) log.warn({ code: warning.code }, warning.message);
  };
  process.on('warning', onWarning);
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  process.on('uncaughtException', onDefect);
  process.on('unhandledRejection', onDefect);
  return { signal: stop.signal, state, stopped: () => clearTimeout(deadline) };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

async function startAndStop({ name, start, log }: RunOptions, signal: AbortSignal): Promise<0 | 1> {
  let running: AsyncDisposable;
  try {
    running = await start({ signal });
  } catch (error) {
    if (!signal.aborted) {
      logStartFailure(log, name, error);
      return 1;
    }
    log.debug({ err: error }, 'start given up');
    return 0;
  }
  if (!signal.aborted) log.info('started');
  const keepMemory = returnIdleMemory();
  await untilAborted(signal);
  keepMemory();
  try {
    await running[Symbol.asyncDispose]();
    return 0;
  } catch (err) {
    log.error({ err }, 'stopping failed');
    return 1;
  }
}

/**
 * Runs a service until SIGTERM or SIGINT, then stops it within the grace period. Resolves when all owners are
 * stopped; the process then ends by itself. Exit codes: 0 stopped; 1 the start or the stop failed, an error
 * was not caught, or the grace period was over; 128 + number on a second signal.
 *
 * Call it once per process: its handlers stay until the end.
 */
export async function runService(options: RunOptions): Promise<void> {
  const { log, graceMs = 25_000 } = options;
  const { signal, state, stopped } = watchProcess(log, graceMs);
  // Keeps the process alive until a signal, also while none of its sockets is open.
  const keepAlive = setInterval(() => {}, 2 ** 30);
  const code = await startAndStop(options, signal);
  clearInterval(keepAlive);
  stopped();
  if (signal.aborted) log.info('stopped');
  process.exitCode = Math.max(code, state.exitCode);
  // Traces or metrics for a receiver that does not answer: their exporter would hold the process for seconds.
  if (isSending()) process.exit();
  setTimeout(() => {
    log.warn({ open: process.getActiveResourcesInfo() }, 'open handles after the stop: exiting anyway');
    process.exit();
  }, leftoverMs).unref();
}
