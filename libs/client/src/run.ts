import { BackOff } from './back-off.ts';
import { errorFrom, MeshClientError } from './client-error.ts';
import { type Connection, type RequestOptions, retryMs } from './connection.ts';
import type { Event, Invocation } from './data.ts';
import { sseBlocks } from './sse-blocks.ts';

/** Options of following a run. */
export interface FollowOptions extends RequestOptions {
  /** Number of the last event that the program has; default 0: all events of the run. */
  after?: number | undefined;
  /** The run, if it continues an invocation. */
  resume?: string | undefined;
  /** Called when the connection is lost, and when events come again. */
  onConnection?: ((state: 'lost' | 'restored') => void) | undefined;
}

/** An event of a run as it happens. */
export interface RunEvent {
  event: Event;
  /** The number of a committed event in its session; undefined for a piece of an answer (`event.partial`). */
  seq: number | undefined;
}

/** Time for which an accepted run is waited for until a replica has taken it, in ms. */
const untakenMs = 10_000;

/** How a run is read. */
interface Reading {
  connection: Connection;
  /** The path of the invocation. */
  path: string;
  invocationId: string;
  options: FollowOptions;
  /** The answer to the request that started the run. */
  first?: Response | undefined;
  silenceMs: number;
  giveUpMs: number;
}

/** How a connection to a run ended: with the run, with its failure, or too early. */
type Outcome = { kind: 'over' } | { kind: 'failed' | 'lost'; error: MeshClientError };

/**
 * A run that a gateway has accepted. Iterate over it once: each committed event comes once and in order, even if the
 * connection is lost or the gateway dies in between. Pieces of an answer that were lost are not repeated; the event
 * that follows has all of their text.
 *
 * The iteration throws a {@link MeshClientError}: the failure of the run; `unavailable` when no gateway answers for
 * `giveUpMs`, after which `follow` continues from `lastSeq`.
 */
export class Run implements AsyncIterable<RunEvent> {
  readonly invocationId: string;
  /** The name of the run, if it continues an invocation. */
  readonly resume: string | undefined;
  readonly #reading: Reading;
  #lastSeq: number;
  #isRead = false;

  /** Made by `MeshClient`. */
  constructor(reading: Reading) {
    this.#reading = reading;
    this.invocationId = reading.invocationId;
    this.resume = reading.options.resume;
    this.#lastSeq = reading.options.after ?? 0;
  }

  /** Number of the last event that came, for `follow`. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent, void, void> {
    if (this.#isRead) throw new TypeError('a run is read once; call follow to read it again');
    this.#isRead = true;
    const { giveUpMs, options, first } = this.#reading;
    const backOff = new BackOff(giveUpMs);
    let response = first;
    let isLost = false;
    for (;;) {
      let outcome: Outcome;
      try {
        response ??= await this.#follow();
        backOff.noteAnswer();
        if (isLost) options.onConnection?.('restored');
        isLost = false;
        outcome = yield* this.#read(response, backOff);
      } catch (error) {
        options.signal?.throwIfAborted();
        outcome = this.#outcomeOf(error);
      }
      if (outcome.kind === 'over') return;
      if (outcome.kind === 'failed') throw outcome.error;
      response = undefined;
      if (!isLost) options.onConnection?.('lost');
      isLost = true;
      await backOff.wait(outcome.error, retryMs(outcome.error), options.signal);
    }
  }

  /** Reads the rest of the run and returns its committed events. @throws as the iteration */
  async rest(): Promise<Event[]> {
    const events: Event[] = [];
    for await (const { event, seq } of this) if (seq !== undefined) events.push(event);
    return events;
  }

  /**
   * Cancels the run in all its processes, and returns its state. A run that no replica has taken ends at once.
   */
  async cancel({ reason, signal }: RequestOptions & { reason?: string } = {}): Promise<Invocation> {
    const { connection, path } = this.#reading;
    const backOff = new BackOff(untakenMs);
    for (;;) {
      try {
        return await connection.insist('POST', `${path}/cancel`, {
          ...{ body: { reason, resume: this.resume }, signal },
        });
      } catch (error) {
        if (!(error instanceof MeshClientError && error.code === 'not_found')) throw error;
        await backOff.wait(error, 0, signal);
      }
    }
  }

  async *#read(response: Response, backOff: BackOff): AsyncGenerator<RunEvent, Outcome, void> {
    if (response.status === 204 || !response.body) return await this.#judge();
    let waiting: Event | undefined;
    for await (const { data, id } of sseBlocks(response.body, this.#reading.silenceMs)) {
      const event = data === undefined ? waiting : (JSON.parse(data) as Event);
      if (event === undefined) continue;
      if (event.error !== undefined) return await this.#judge(errorFrom(event));
      if (event.partial) yield { event, seq: undefined };
      // In the answer to a new run the number follows in a block of its own.
      else if (id === undefined) waiting = event;
      else {
        waiting = undefined;
        const seq = Number(id);
        if (seq <= this.#lastSeq) continue;
        this.#lastSeq = seq;
        backOff.reset();
        yield { event, seq };
      }
    }
    // A proxy may end the answer of a gateway that has died as if it were complete.
    return await this.#judge();
  }

  /** Asks how the run stands after its connection ended. @param error the error that came as the last frame */
  async #judge(error?: MeshClientError): Promise<Outcome> {
    const { connection, path, options, invocationId } = this.#reading;
    const lost = error ?? lostConnection(invocationId);
    // An error of the run itself; others may be errors of the gateway alone.
    if (error && !error.isPassing) return { kind: 'failed', error };
    const state = await connection.insist<Invocation>('GET', path, { signal: options.signal });
    // The state is that of the last run of the invocation. An earlier run is over when a later one has begun.
    if (this.resume !== undefined && state.resume !== undefined && state.resume !== this.resume)
      return error ? { kind: 'failed', error } : { kind: 'over' };
    const hasEnded = state.status !== 'waiting' && state.status !== 'running';
    if (!hasEnded || state.lastSeq > this.#lastSeq) return { kind: 'lost', error: lost };
    if (state.status === 'completed') return { kind: 'over' };
    const { code = 'internal', message = 'the run failed' } = state.error ?? {};
    return { kind: 'failed', error: error ?? new MeshClientError(message, { code, invocationId }) };
  }

  /**
   * Tells whether the client comes back after an error: after a lost connection, and when a gateway or a proxy is busy
   * or away. A run that was accepted and that no replica has taken is not found yet.
   */
  #outcomeOf(thrown: unknown): Outcome {
    const { first, invocationId } = this.#reading;
    const error = thrown instanceof MeshClientError ? thrown : lostConnection(invocationId, thrown);
    const isAccepted = first !== undefined || this.#lastSeq > 0;
    const mayReturn = error.isPassing || (isAccepted && error.code === 'not_found');
    return { kind: mayReturn ? 'lost' : 'failed', error };
  }

  #follow(): Promise<Response> {
    const { connection, path, options } = this.#reading;
    return connection.send('GET', `${path}/events`, {
      query: { resume: this.resume },
      ...(this.#lastSeq > 0 && { headers: { 'last-event-id': String(this.#lastSeq) } }),
      signal: options.signal,
    });
  }
}

function lostConnection(invocationId: string, cause?: unknown): MeshClientError {
  const message = 'the connection to the run was lost; follow it from the number of its last event';
  return new MeshClientError(message, { code: 'unavailable', invocationId, cause });
}
