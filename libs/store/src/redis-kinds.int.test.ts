import { randomUUID } from 'node:crypto';
import { credentialServicesConformance, sessionServiceConformance } from '@agentmesh/agent/conformance';
import { createSecretBox, newCredentialKeys } from '@agentmesh/protocol';
import { callResultsConformance } from './call-results.fixture.ts';
import { jobRecordsConformance } from './job-records.fixture.ts';
import { onEachRedis } from './redis-kinds.fixture.ts';
import { connectRedisStore } from './redis-store.ts';

const box = createSecretBox(newCredentialKeys('first'));

onEachRedis((redis) => {
  const open = async () => {
    const store = await connectRedisStore({ ...redis().options, prefix: `am:${randomUUID()}`, box });
    return { store, dispose: async () => await store[Symbol.asyncDispose]() };
  };

  sessionServiceConformance('RedisSessionService', async () => {
    const { store, dispose } = await open();
    return { service: store.sessions, dispose };
  });

  credentialServicesConformance('Redis', async () => {
    const { store, dispose } = await open();
    if (!store.credentials) throw new Error('the store keeps no credentials');
    const { credentialService, signInService } = store.credentials;
    return { credentials: credentialService, signIns: signInService, dispose };
  });

  callResultsConformance(redis);
  jobRecordsConformance(redis);
});
