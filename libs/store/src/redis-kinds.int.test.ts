import { randomUUID } from 'node:crypto';
import {
  credentialServicesConformance,
  memoryServiceConformance,
  sessionServiceConformance,
} from '@agentmesh/agent/conformance';
import { createSecretBox, keys, newCredentialKeys } from '@agentmesh/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callResultsConformance } from './calls/call-results.fixture.ts';
import { jobRecordsConformance } from './calls/job-records.fixture.ts';
import { connectRedis, type RedisConnection } from './connection/redis-connection.ts';
import { onEachRedis } from './connection/redis-kinds.fixture.ts';
import { listWaitingUsers } from './list-waiting-users.ts';
import { type RedisStore, storeOn } from './redis-store.ts';
import { storeHost } from './store-host.fixture.ts';

const box = createSecretBox(newCredentialKeys('first'));

onEachRedis((redis) => {
  let connection: RedisConnection;
  beforeAll(async () => {
    connection = await connectRedis(redis().options);
  });
  afterAll(() => connection[Symbol.asyncDispose]());

  /**
   * Makes a store with keys of its own on the shared connection; a new connection takes long in a cluster
   * with TLS.
   */
  const freshStore = (): RedisStore => storeOn(connection, { prefix: `am:${randomUUID()}`, box });
  const dispose = async () => {};

  sessionServiceConformance('RedisSessionService', async () => ({ service: freshStore().sessions, dispose }));

  credentialServicesConformance('Redis', async () => {
    const { credentials, credentialRecords: records } = freshStore();
    if (!credentials) throw new Error('the store keeps no credentials');
    return {
      credentials: credentials.credentialService,
      records,
      signIns: credentials.signInService,
      dispose,
    };
  });

  memoryServiceConformance('RedisMemoryService', async () => ({ service: freshStore().memory, dispose }));

  it('lists the users with pending calls on all its servers', async () => {
    // A prefix with characters that mean something in a pattern.
    const prefix = `am:[${randomUUID()}]*`;
    const names = keys(prefix);
    const users = Array.from({ length: 20 }, (_, at) => ({ app: 'shop: *', user: `user ${at}` }));
    for (const { app, user } of users)
      await connection.write(names.pending(app, user), (client) =>
        client.hset(names.pending(app, user), 'call', '{}'),
      );
    await connection.write(names.queued('shop', 'ann'), (client) =>
      client.zadd(names.queued('shop', 'ann'), 1, 'x'),
    );
    const found = await listWaitingUsers({ ...redis().admin, prefix });
    expect(new Set(found)).toEqual(new Set(users));
    expect(found).toHaveLength(users.length);
  });

  it('names the right that a user without it needs for the list', async () => {
    const { url, caFile } = redis().options;
    if (!url.includes('store:')) return;
    await expect(listWaitingUsers({ url, caFile })).rejects.toThrow('use the user of the provisioning step');
  });

  const host = storeHost(redis);
  callResultsConformance(host);
  jobRecordsConformance(host);
});
