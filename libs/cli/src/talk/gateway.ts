import { type ErrorCode, type Event, errorTable, eventSchema, MeshError } from '@agentmesh/protocol';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { z } from 'zod';
import type { Surroundings } from '../command/command.ts';

/** A session at the gateway. */
export interface GatewaySession {
  app: string;
  user: string;
  session: string;
}

/** A message of a person, or answers to questions. */
export interface GatewayMessage {
  role: 'user';
  parts: object[];
}

const errorSchema = z.object({ error: z.string(), code: z.string().default('internal') });

/** The longest time until the gateway begins its answer, in ms: a run may take long before its first event. */
const answerMs = 900_000;

/** A client of the gateway's REST interface. */
export class Gateway {
  readonly #url: string;
  readonly #key: string | undefined;
  readonly #signal: AbortSignal;

  constructor({
    gatewayUrl,
    gatewayKey,
    signal,
  }: Pick<Surroundings, 'gatewayUrl' | 'gatewayKey' | 'signal'>) {
    // `fetch` fails with another character as if no gateway were there.
    if (gatewayKey !== undefined && !/^[\x20-\x7e]*[\r\n]*$/.test(gatewayKey))
      throw new MeshError(
        'unauthenticated',
        'MESH_GATEWAY_KEY has a character that no header can hold, such as a line break; give it as keys create printed it',
      );
    this.#url = gatewayUrl;
    this.#key = gatewayKey;
    this.#signal = signal;
  }

  /** Sends a request and reads the answer. @throws MeshError the error of the gateway; `unavailable` */
  async call<T>(schema: z.ZodType<T>, path: string, body?: unknown): Promise<T> {
    const response = await this.#send(path, body);
    return schema.parse(await response.json());
  }

  async apps(): Promise<string[]> {
    return await this.call(z.array(z.string()), '/list-apps');
  }

  /** Makes a session, with the id if one is given. Takes an existing session of this id. */
  async openSession(app: string, user: string, id?: string): Promise<GatewaySession> {
    const path = sessionsPath(app, user);
    const schema = z.object({ id: z.string() });
    try {
      const made = await this.call(schema, id === undefined ? path : `${path}/${encodeURIComponent(id)}`, {});
      return { app, user, session: made.id };
    } catch (error) {
      if (id !== undefined && MeshError.from(error).code === 'already_exists')
        return { app, user, session: id };
      throw error;
    }
  }

  /**
   * Sends a message and yields the events of the run, streamed pieces too. The run goes on when this stops.
   *
   * @param onBegin gets the id of the invocation once the run is accepted
   * @throws MeshError of the run
   */
  async *run(
    { app, user, session }: GatewaySession,
    message: GatewayMessage,
    onBegin: (invocation: string) => void = () => {},
  ): AsyncGenerator<Event, void, void> {
    const body = { appName: app, userId: user, sessionId: session, newMessage: message, streaming: true };
    const response = await this.#send('/run_sse?stop_on_disconnect=false', body);
    onBegin(response.headers.get('x-invocation-id') ?? '');
    if (!response.body) throw new MeshError('internal', 'the gateway has sent no events');
    const frames = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream());
    for await (const { data } of withLoss(frames)) {
      // A block with an id alone.
      if (data === '') continue;
      const value: unknown = JSON.parse(data);
      const failure = errorSchema.safeParse(value);
      if (failure.success) throw gatewayError(failure.data);
      yield eventSchema.parse(value);
    }
  }

  async #send(path: string, body: unknown): Promise<Response> {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const headers = {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(this.#key !== undefined && { authorization: `Bearer ${this.#key}` }),
    };
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(answerMs)]);
    let response: Response;
    try {
      response = await fetch(`${this.#url}${path}`, { ...init, headers, signal });
    } catch (cause) {
      if (this.#signal.aborted) throw new MeshError('cancelled', 'stopped by Ctrl-C', { cause });
      throw new MeshError('unavailable', `no gateway answers at ${this.#url}`, {
        cause,
        details: { absent: 'gateway' },
      });
    }
    if (response.ok) return response;
    const failure = errorSchema.safeParse(await response.json().catch(() => undefined));
    if (failure.success) throw gatewayError(failure.data);
    throw new MeshError(
      'unavailable',
      `${this.#url} answers ${response.status}, and is no gateway of a mesh`,
    );
  }
}

/** Why a stream ended too early. */
export const lostConnection = 'lost connection';

/** Yields the parts of a stream. @throws MeshError `unavailable` when its connection is lost */
async function* withLoss<T>(stream: AsyncIterable<T>): AsyncGenerator<T, void, void> {
  try {
    yield* stream;
  } catch (cause) {
    const details = { reason: lostConnection };
    throw new MeshError('unavailable', 'the connection to the gateway was lost', { cause, details });
  }
}

function gatewayError({ error, code }: z.infer<typeof errorSchema>): MeshError {
  return new MeshError(Object.hasOwn(errorTable, code) ? (code as ErrorCode) : 'internal', error);
}

export function sessionsPath(app: string, user: string): string {
  return `/apps/${encodeURIComponent(app)}/users/${encodeURIComponent(user)}/sessions`;
}

export function sessionPath({ app, user, session }: GatewaySession): string {
  return `${sessionsPath(app, user)}/${encodeURIComponent(session)}`;
}

/** Returns a message with a text. */
export function textMessage(text: string): GatewayMessage {
  return { role: 'user', parts: [{ text }] };
}
