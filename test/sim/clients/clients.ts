import type { Mesh } from '@agentmesh/mesh';
import { every, everySession, type SessionRef } from '@agentmesh/protocol';
import type { Random } from '@agentmesh/testing';
import { app } from '../../chaos/agents.ts';
import { type Act, type EndNews, type Message, now, type Observations } from '../../chaos/check/history.ts';
import { readEnd } from '../../chaos/clients/end-news.ts';
import { newPlace, type Place as VisitPlace } from '../../chaos/clients/place.ts';
import type { Stage } from '../stage/stage.ts';
import { connectProcess, names } from '../stage/start-process.ts';
import { newLife, runAs } from '../world/life.ts';
import { Gateways } from './gateways.ts';

/** All that the clients of a history do and see. */
export type Traffic = Pick<Observations, 'messages' | 'acts' | 'news'>;

/** The number in the name of the program, which no process of the stage has. */
const programNumber = 9_999;

/** The time after which clients come back whose runs may be lost, in ms. */
const patienceMs = 20_000;

/** The clients of a history: people at gateways, and a program that knows only NATS. */
export class Clients {
  readonly traffic: Traffic = { messages: [], acts: [], news: [] };
  readonly gateways: Gateways;
  /** The users whose data was deleted. */
  readonly erasedUsers = new Set<string>();
  readonly random: Random;
  /** The connections on which clients read. */
  readonly open = new Set<AbortController>();
  readonly #stage: Stage;
  #program: Mesh | undefined;
  #sessions = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.gateways = new Gateways(stage);
    this.random = stage.world.random.fork('clients');
    const { world, store } = stage;
    store.wire.replica.onLostWrites = () =>
      world.at(patienceMs, () => {
        for (const leave of this.open) leave.abort();
      });
  }

  /** Connects the program, which hears all news about ends. */
  async connect(): Promise<void> {
    const life = newLife('client', 1);
    await runAs(life, async () => {
      const mesh = await connectProcess(this.#stage.site, life, { service: 'client', number: programNumber });
      this.#program = mesh;
      await mesh.bus.subscribe(names.invocationWatch(everySession, every), (message) => {
        const end = readEnd({ ...message, json: () => message.json() });
        if (end && !this.#isForgotten(end)) this.traffic.news.push(end);
      });
    });
  }

  get isReady(): boolean {
    return this.#program !== undefined;
  }

  /** Whether a failover took back what the mesh had acknowledged. */
  get hasLostWrites(): boolean {
    return this.#stage.store.wire.replica.hasLostWrites;
  }

  get program(): Mesh {
    if (!this.#program) throw new Error('the program is not connected');
    return this.#program;
  }

  /**
   * Tells whether an end is about a run of a user whose data was deleted. The record of a run is gone then, so a
   * later delivery of its command finds no session, although the run has ended.
   */
  #isForgotten({ invocationId, code }: EndNews): boolean {
    if (code !== 'not_found') return false;
    const ofErased = ({ session }: Message) => this.erasedUsers.has(session.userId);
    return this.traffic.messages.some(
      (message) => message.invocationId === invocationId && ofErased(message),
    );
  }

  /** Makes a session for a user. */
  async createSession(userId: string): Promise<SessionRef> {
    this.#sessions += 1;
    const ref = { appName: app, userId, sessionId: `s${this.#sessions}` };
    return await this.gateways.insist((entry) => entry.createSession(ref));
  }

  send(message: Message): Message {
    this.traffic.messages.push(message);
    return message;
  }

  /** Notes an act while it is carried out; its outcome is unknown until it is told. */
  begin(act: Pick<Act, 'kind' | 'session'> & Partial<Act>): Act {
    const begun: Act = { outcome: 'unknown', ...act, sentAt: now() };
    this.traffic.acts.push(begun);
    return begun;
  }
}

/** One visit of a user: its clients, and its place in them. */
export interface Visitor {
  clients: Clients;
  place: VisitPlace;
}

export const newVisitor = (clients: Clients, user: string): Visitor => ({ clients, place: newPlace(user) });

/** Returns the current session of a visit; makes one if there is none. */
export async function sessionOf({ clients, place }: Visitor): Promise<SessionRef> {
  place.session ??= clients.createSession(place.user);
  return await place.session;
}
