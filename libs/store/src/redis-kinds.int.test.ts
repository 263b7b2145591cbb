import { randomUUID } from 'node:crypto';
import {
  credentialServicesConformance,
  memoryServiceConformance,
  sessionServiceConformance,
} from '@agentmesh/agent/conformance';
import { createSecretBox, newCredentialKeys } from '@agentmesh/protocol';
import { afterAll, beforeAll } from 'vitest';
import { callResultsConformance } from './calls/call-results.fixture.ts';
import { jobRecordsConformance } from './calls/job-records.fixture.ts';
import { connectRedis, type RedisConnection } from './connection/redis-connection.ts';
import { onEachRedis } from './connection/redis-kinds.fixture.ts';
import { type RedisStore, storeOn } from './redis-store.ts';

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

  callResultsConformance(redis);
  jobRecordsConformance(redis);
});
