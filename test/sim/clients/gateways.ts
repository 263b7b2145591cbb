import { setTimeout as delay } from 'node:timers/promises';
import { MeshError } from '@agentmesh/protocol';
import type { Place, Running } from '../stage/place.ts';
import type { Stage } from '../stage/stage.ts';
import { runAs } from '../world/life.ts';
import { type Entry, meshEntry } from './entry.ts';
import { httpEntry } from './http-entry.ts';

/** The error for a client whose gateway died: it knows nothing about its request. */
class GatewayDied extends Error {}

/** The pause before a request goes to the next gateway, in ms. */
const elsewhereMs = 20;

/** Tells whether a client knows nothing about a request that failed with this error. */
export function isUnknown(error: unknown): boolean {
  return error instanceof GatewayDied || MeshError.from(error).retryable;
}

/** The gateways, as clients use them: each request goes to the next one. */
export class Gateways {
  readonly #stage: Stage;
  #turn = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  next(): Place {
    const all = this.#stage.ofPart('gateway');
    const gateway = all[this.#turn % all.length];
    this.#turn += 1;
    if (!gateway) throw new Error('there is no gateway');
    return gateway;
  }

  /** Does something at a gateway. @throws GatewayDied if it is down or dies meanwhile */
  async at<T>({ running, life, died }: Place, run: (entry: Entry) => Promise<T>): Promise<T> {
    if (!running || life.dead) throw new GatewayDied();
    const death = died.then((): never => {
      throw new GatewayDied();
    });
    try {
      return await Promise.race([runAs(life, () => run(entryOf(running))), death]);
    } catch (error) {
      throw life.dead ? new GatewayDied() : error;
    }
  }

  /** Repeats a request at one gateway after the other until there is an answer. */
  async insist<T>(run: (entry: Entry) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await this.at(this.next(), run);
      } catch (error) {
        if (!isUnknown(error)) throw error;
        await delay(elsewhereMs);
      }
    }
  }
}

const entryOf = ({ mesh, server }: Running): Entry => (server ? httpEntry(server) : meshEntry(mesh));
