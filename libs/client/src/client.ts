import { MeshClientError } from './client-error.ts';
import { Connection, type ConnectionOptions, type RequestOptions } from './connection.ts';
import type {
  ArtifactVersion,
  Content,
  Invocation,
  PendingCall,
  Question,
  Session,
  StoredEvent,
} from './data.ts';
import { type FollowOptions, Run } from './run.ts';

/** Options of a client. */
export interface ClientOptions extends ConnectionOptions {
  /** The address of the gateways, such as `https://agents.example`. */
  url: string;
  /** An API key or a token, or a function that returns one. The function is called before each request. */
  token?: string | (() => string | Promise<string>) | undefined;
  /** Another `fetch`. */
  fetch?: typeof fetch | undefined;
  /** Time without an answer after which a run is given up, in ms; default 120,000. */
  giveUpMs?: number | undefined;
  /** Time without a byte after which the connection of a run counts as lost, in ms; default 45,000. */
  silenceMs?: number | undefined;
}

/** A session of a user in an app. */
export interface SessionRef {
  app: string;
  user: string;
  session: string;
}

/** A message: a text, or a Content. */
export type Message = string | Content;

/** Options of a new run. */
export interface RunOptions extends Pick<FollowOptions, 'signal' | 'onConnection'> {
  /** True for pieces of the answer as the model writes it; default true. */
  streaming?: boolean | undefined;
  stateDelta?: Record<string, unknown> | undefined;
  /** The treatment of a message while another run is at work in the session; default `enqueue`. */
  whenBusy?: 'enqueue' | 'reject' | 'interrupt' | undefined;
  /** The invocation that the message continues, in a resumable app. */
  invocationId?: string | undefined;
  runConfig?: Record<string, unknown> | undefined;
}

type User = Omit<SessionRef, 'session'>;

/**
 * A client of the gateways of a mesh. Every method throws a {@link MeshClientError}, or the reason of its signal.
 *
 * @example
 * const client = new MeshClient({ url: 'https://agents.example', token: () => session.token });
 * const session = await client.createSession({ app: 'stock_app', user: 'ann' });
 * for await (const { event } of await client.run(session, 'What is the price of GOOG?')) show(event);
 */
export class MeshClient {
  readonly #connection: Connection;
  readonly #reading: { giveUpMs: number; silenceMs: number };

  /** @throws TypeError for an url that is no address */
  constructor({ giveUpMs = 120_000, silenceMs = 45_000, ...connection }: ClientOptions) {
    this.#connection = new Connection(connection);
    this.#reading = { giveUpMs, silenceMs };
  }

  /** Lists the apps that the caller may use. */
  apps(options: RequestOptions = {}): Promise<string[]> {
    return this.#connection.insist('GET', '/list-apps', options);
  }

  /** Makes a session, with this id if one is given. @throws MeshClientError `already_exists` */
  async createSession(
    { app, user, session, state }: User & { session?: string; state?: Record<string, unknown> },
    { signal }: RequestOptions = {},
  ): Promise<SessionRef> {
    const body = { sessionId: session, state };
    const answer = await this.#connection.send('POST', `${userPath({ app, user })}/sessions`, {
      body,
      signal,
    });
    const { id } = (await answer.json()) as Session;
    return { app, user, session: id };
  }

  /** Returns a session with its last events; default all. */
  getSession(
    ref: SessionRef,
    { signal, recentEvents }: RequestOptions & { recentEvents?: number } = {},
  ): Promise<Session> {
    const query = { numRecentEvents: recentEvents };
    return this.#connection.insist('GET', sessionPath(ref), { query, signal });
  }

  /** Lists a page of the sessions of a user, newest first. */
  listSessions(
    user: User,
    { signal, ...query }: RequestOptions & { limit?: number; offset?: number } = {},
  ): Promise<Session[]> {
    return this.#connection.insist('GET', `${userPath(user)}/sessions`, { query, signal });
  }

  /** Deletes a session with all that belongs to it. */
  async deleteSession(ref: SessionRef, options: RequestOptions = {}): Promise<void> {
    await this.#connection.insist('DELETE', sessionPath(ref), options);
  }

  /** Returns a page of the log: events after the number `after`. */
  events(
    ref: SessionRef,
    { signal, ...query }: RequestOptions & { after?: number; limit?: number } = {},
  ): Promise<{ events: StoredEvent[]; lastSeq: number }> {
    return this.#connection.insist('GET', `${sessionPath(ref)}/events`, { query, signal });
  }

  /**
   * Sends a message and returns its run as soon as a gateway has accepted it. When the connection is lost before, the
   * message is sent again for ten seconds; it starts one run, however often it comes.
   *
   * @throws MeshClientError `unavailable` without a status when no gateway answers: the run may have begun then
   */
  async run(ref: SessionRef, message: Message, options: RunOptions = {}): Promise<Run> {
    const { signal, onConnection, streaming = true, ...rest } = options;
    const body = { ...bodyOf(ref, message), ...rest, streaming };
    const first = await this.#connection.sendWithKey('POST', '/run_sse', { body, signal });
    const id = first.headers.get('x-invocation-id');
    if (id === null)
      throw new MeshClientError(
        'the answer names no invocation: MESH_HTTP_CORS_ORIGINS of the gateway must name the origin of this page, and proxies must pass the header x-invocation-id on',
        { code: 'internal', status: first.status },
      );
    const resume = first.headers.get('x-resume-id') ?? undefined;
    return this.#runOf(ref, id, { signal, onConnection, resume }, first);
  }

  /**
   * Reads a run that was started anywhere, from the event after `after` on. A run that was accepted a moment ago may be
   * `not_found` until a replica has taken it.
   */
  follow(ref: SessionRef, invocationId: string, options: FollowOptions = {}): Run {
    return this.#runOf(ref, invocationId, options);
  }

  /** Returns the state of an invocation. */
  invocation(ref: SessionRef, invocationId: string, options: RequestOptions = {}): Promise<Invocation> {
    return this.#connection.insist('GET', invocationPath(ref, invocationId), options);
  }

  /**
   * Cancels an invocation in all its processes, and returns its state. A run that no replica has taken ends at once.
   */
  cancel(
    ref: SessionRef,
    invocationId: string,
    { signal, reason }: RequestOptions & { reason?: string } = {},
  ): Promise<Invocation> {
    const path = `${invocationPath(ref, invocationId)}/cancel`;
    return this.#connection.insist('POST', path, { body: { reason }, signal });
  }

  /** Lists the calls that wait for an answer, in a session or in all sessions of a user. */
  async pending(ref: User & { session?: string }, options: RequestOptions = {}): Promise<PendingCall[]> {
    const { session } = ref;
    const path = session === undefined ? userPath(ref) : sessionPath({ ...ref, session });
    const answer = await this.#connection.insist<{ pending: PendingCall[] }>(
      'GET',
      `${path}/pending`,
      options,
    );
    return answer.pending;
  }

  /** Confirms or refuses a call of a tool. The run is what the agent does next. */
  confirm(
    ref: SessionRef,
    question: Pick<Question, 'id' | 'name'>,
    confirmed: boolean,
    { payload, ...options }: RunOptions & { payload?: unknown } = {},
  ): Promise<Run> {
    return this.answer(ref, question, { confirmed, ...(payload !== undefined && { payload }) }, options);
  }

  /** Answers a question for input: with a text, or with a value that fits the schema of the question. */
  giveInput(
    ref: SessionRef,
    question: Pick<Question, 'id' | 'name'>,
    input: unknown,
    options: RunOptions = {},
  ): Promise<Run> {
    const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
    return this.answer(ref, question, isObject ? { ...input } : { result: input }, options);
  }

  /** Answers a question for a credential, with the credential or with the address of the sign-in. */
  giveCredential(
    ref: SessionRef,
    question: Pick<Question, 'id' | 'name'>,
    credential: Record<string, unknown>,
    options: RunOptions = {},
  ): Promise<Run> {
    return this.answer(ref, question, { exchangedAuthCredential: credential }, options);
  }

  /** Answers a question of any kind with this response. */
  answer(
    ref: SessionRef,
    { id, name }: Pick<Question, 'id' | 'name'>,
    response: Record<string, unknown>,
    options: RunOptions = {},
  ): Promise<Run> {
    return this.run(ref, { parts: [{ functionResponse: { id, name, response } }] }, options);
  }

  /** Lists the names of the artifacts of a session. */
  listArtifacts(ref: SessionRef, options: RequestOptions = {}): Promise<string[]> {
    return this.#connection.insist('GET', `${sessionPath(ref)}/artifacts`, options);
  }

  /** Saves bytes or a text as a new version of an artifact. Names with `user:` belong to all sessions of the user. */
  async uploadArtifact(
    ref: SessionRef,
    name: string,
    content: Blob | Uint8Array | string | ReadableStream<Uint8Array>,
    { signal, type }: RequestOptions & { type?: string } = {},
  ): Promise<ArtifactVersion> {
    const given = content instanceof Blob && content.type !== '' ? content.type : undefined;
    const usual = typeof content === 'string' ? 'text/plain' : 'application/octet-stream';
    const path = `${artifactPath(ref, name)}/content`;
    const sent = { body: content, type: type ?? given ?? usual, signal };
    return (await (await this.#connection.send('PUT', path, sent)).json()) as ArtifactVersion;
  }

  /** Returns an answer whose body has the bytes of an artifact, and whose `content-type` is that of the artifact. */
  downloadArtifact(
    ref: SessionRef,
    name: string,
    { signal, version }: RequestOptions & { version?: number } = {},
  ): Promise<Response> {
    const query = { version };
    return this.#connection.send('GET', `${artifactPath(ref, name)}/content`, { query, signal });
  }

  /** Deletes an artifact with all versions. */
  async deleteArtifact(ref: SessionRef, name: string, options: RequestOptions = {}): Promise<void> {
    await this.#connection.insist('DELETE', artifactPath(ref, name), options);
  }

  #runOf(ref: SessionRef, invocationId: string, options: FollowOptions, first?: Response): Run {
    const path = invocationPath(ref, invocationId);
    return new Run({ connection: this.#connection, path, invocationId, options, first, ...this.#reading });
  }
}

function bodyOf({ app, user, session }: SessionRef, message: Message) {
  const newMessage = typeof message === 'string' ? { role: 'user', parts: [{ text: message }] } : message;
  return { appName: app, userId: user, sessionId: session, newMessage };
}

function userPath({ app, user }: User): string {
  return `/apps/${encodeURIComponent(app)}/users/${encodeURIComponent(user)}`;
}

function sessionPath({ session, ...user }: SessionRef): string {
  return `${userPath(user)}/sessions/${encodeURIComponent(session)}`;
}

function invocationPath(ref: SessionRef, invocationId: string): string {
  return `${sessionPath(ref)}/invocations/${encodeURIComponent(invocationId)}`;
}

function artifactPath(ref: SessionRef, name: string): string {
  return `${sessionPath(ref)}/artifacts/${encodeURIComponent(name)}`;
}
