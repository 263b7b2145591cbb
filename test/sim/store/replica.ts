import type { RedisCopy, SmallRedis } from '../redis/small-redis.ts';
import type { World } from '../world/world.ts';

export interface ReplicaOptions {
  /** Whether writes are done only when the replica has them (`MESH_REDIS_WAIT_REPLICAS=1`). */
  isReplicated: boolean;
  /** Whether writes say that they are done before that. */
  answersEarly: boolean;
}

/** The replica of the server. It is in step, except for the time before a failover: then it gets no writes. */
export class Replica {
  /** Whether a failover took writes back that nothing protects. */
  hasLostWrites = false;
  /** Called after such a failover. */
  onLostWrites = (): void => {};
  readonly #server: SmallRedis;
  readonly #world: World;
  readonly #options: ReplicaOptions;
  /** The callers that wait for the promotion; undefined while the replica is in step. */
  #waiting: (() => void)[] | undefined;

  constructor(server: SmallRedis, world: World, options: ReplicaOptions) {
    this.#server = server;
    this.#world = world;
    this.#options = options;
  }

  get isInStep(): boolean {
    return this.#waiting === undefined;
  }

  /** Tells whether the caller of a write has to wait for a replica that is cut off. Calls `onPromoted` then. */
  holdsUp(onPromoted: () => void): boolean {
    const { isReplicated, answersEarly } = this.#options;
    if (!this.#waiting || !isReplicated || answersEarly) return false;
    this.#waiting.push(onPromoted);
    return true;
  }

  /** Cuts the replica off from the server for a time. Then the replica takes the place of the server. */
  failOver(cutMs: number, onPromoted: () => void): void {
    if (this.#waiting) return;
    this.#waiting = [onPromoted];
    const data = this.#server.copy();
    const { writes } = this.#server;
    this.#world.at(cutMs, () => this.#promote(data, this.#server.writes - writes));
  }

  #promote(data: RedisCopy, lost: number): void {
    this.#world.note(`redis fails over, and loses ${lost} writes`);
    this.#server.restore(data);
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const onPromoted of waiting) onPromoted();
    if (lost === 0 || this.#options.isReplicated) return;
    this.hasLostWrites = true;
    this.onLostWrites();
  }
}
