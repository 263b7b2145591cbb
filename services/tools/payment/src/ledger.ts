import { keys } from '@agentmesh/protocol';
import { type ConnectionOptions, connectRedis, type RedisConnection } from '@agentmesh/store';

/** A payment. */
export interface Payment {
  paymentId: string;
  amount: number;
  purpose: string;
}

/** The payments, in Redis: a stand-in for a bank that takes an idempotency key. */
export class Ledger implements AsyncDisposable {
  #redis: RedisConnection | undefined;
  /** The Redis hash of all payments, as JSON, each under the id of its call. No other service may use it. */
  #key = '';

  /** Connects. @throws MeshError when Redis does not answer; after that, calls wait for Redis */
  async open({ prefix, ...options }: ConnectionOptions & { prefix?: string | undefined }): Promise<this> {
    this.#key = keys(prefix).own('tool_reimburse', 'payments');
    this.#redis = await connectRedis(options);
    return this;
  }

  /** Pays once for each key: with a used key it returns the first payment. */
  async pay(key: string, order: Omit<Payment, 'paymentId'>): Promise<Payment> {
    if (!this.#redis) throw new Error('the ledger is not open');
    const ledgerKey = this.#key;
    const payment: Payment = { paymentId: `payment-${key}`, ...order };
    await this.#redis.write(ledgerKey, (redis) => redis.hsetnx(ledgerKey, key, JSON.stringify(payment)));
    return JSON.parse((await this.#redis.run((redis) => redis.hget(ledgerKey, key))) ?? '') as Payment;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#redis?.[Symbol.asyncDispose]();
  }
}
