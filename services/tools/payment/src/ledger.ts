import { Redis } from 'ioredis';

/** A payment that was made. */
export interface Payment {
  paymentId: string;
  amount: number;
  purpose: string;
}

/** The Redis hash of all payments, as JSON, each under the id of the call that asked for it. */
const ledgerKey = 'payments';

/** The payments, in Redis: stands in for a bank that takes an idempotency key. */
export class Ledger implements AsyncDisposable {
  #redis: Redis | undefined;

  /** Connects. @throws Error when Redis is not there; later it is waited for */
  async open(url: string, onError: (error: Error) => void): Promise<this> {
    const redis = new Redis(url, { lazyConnect: true });
    redis.on('error', onError);
    try {
      await redis.connect();
    } catch (error) {
      redis.disconnect();
      throw error;
    }
    this.#redis = redis;
    return this;
  }

  /** Pays, once for each key: with one that was used before it gives the payment of then. */
  async pay(key: string, order: Omit<Payment, 'paymentId'>): Promise<Payment> {
    if (!this.#redis) throw new Error('the ledger is not open');
    const payment: Payment = { paymentId: `payment-${key}`, ...order };
    await this.#redis.hsetnx(ledgerKey, key, JSON.stringify(payment));
    return JSON.parse((await this.#redis.hget(ledgerKey, key)) ?? '') as Payment;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#redis?.quit();
  }
}
