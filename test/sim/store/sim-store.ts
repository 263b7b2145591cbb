import type { RedisStore } from '@agentmesh/store';
import { keepTime } from '../../../libs/store/src/connection/keep-time.ts';
import { allScripts } from '../../../libs/store/src/functions.ts';
import { storeOn } from '../../../libs/store/src/redis-store.ts';
import { libraryOf } from '../../../libs/store/src/scripts/script.ts';
import type { Rest } from '../../chaos/check/history.ts';
import { judgeKeys } from '../../chaos/redis-rest.ts';
import type { Wire } from '../broker/wire.ts';
import { SmallRedis } from '../redis/small-redis.ts';
import { atOnce, smallRedisClient } from '../redis/small-redis-client.ts';
import { smallRedisConnection } from '../redis/small-redis-connection.ts';
import type { Life } from '../world/life.ts';
import { Replica, type ReplicaOptions } from './replica.ts';
import { StoreWire } from './store-wire.ts';

/** The stores of one process. */
export type Stores = Pick<RedisStore, 'sessions' | 'callResults' | 'jobs'>;

const libraries = allScripts.map((script) => libraryOf(script));

/** A Redis in virtual time, on which the store of each process works: each round trip is a call over a wire. */
export class SimStore {
  readonly wire: StoreWire;
  /** The store as the harness uses it, without a wire. */
  readonly direct: RedisStore;
  readonly #server: SmallRedis;
  readonly #keepsTime: boolean;

  constructor(wire: Wire, { keepsTime, ...options }: ReplicaOptions & { keepsTime: boolean }) {
    this.#keepsTime = keepsTime;
    this.#server = new SmallRedis({ now: () => wire.world.now() });
    this.wire = new StoreWire(wire, new Replica(this.#server, wire.world, options));
    for (const library of libraries) this.#server.call('FUNCTION', ['LOAD', library]);
    this.direct = storeOn(smallRedisConnection(this.#server), {});
  }

  /** Opens the stores for a process. */
  async openStore(life: Life): Promise<Stores> {
    const random = this.wire.wire.world.random.fork(`store/${life.name}`);
    const connection = smallRedisConnection(this.#server, {
      call: (name, carryOut, waits) => this.wire.call(life, { name, carryOut, waits, random }),
    });
    // Its timer ends with the life.
    if (this.#keepsTime) await keepTime(connection);
    const { sessions, callResults, jobs } = storeOn(connection, {});
    return { sessions, callResults, jobs };
  }

  /** Returns what is left in Redis. */
  async rest(): Promise<Rest['redis']> {
    const redis = smallRedisClient(this.#server, atOnce);
    const [, keys] = await redis.scan('0', 'MATCH', 'am:*');
    return await judgeKeys(keys.map((key) => ({ key, redis })));
  }
}
