import { randomUUID } from 'node:crypto';
import {
  credentialServicesConformance,
  memoryServiceConformance,
  sessionServiceConformance,
} from '@agentmesh/agent/conformance';
import { createSecretBox, newCredentialKeys } from '@agentmesh/protocol';
import { callResultsConformance } from '../../../libs/store/src/calls/call-results.fixture.ts';
import { jobRecordsConformance } from '../../../libs/store/src/calls/job-records.fixture.ts';
import type { RedisConnection } from '../../../libs/store/src/connection/redis-connection.ts';
import { storeOn } from '../../../libs/store/src/redis-store.ts';

/** Registers the suites that every kind of Redis must pass. */
export function storeSuites(connection: () => RedisConnection): void {
  const box = createSecretBox(newCredentialKeys('first'));
  /** Makes a store with keys of its own. */
  const freshStore = () => storeOn(connection(), { prefix: `am:${randomUUID()}`, box });
  const dispose = async () => {};

  sessionServiceConformance('RedisSessionService', async () => ({ service: freshStore().sessions, dispose }));

  credentialServicesConformance('Redis', async () => {
    const { credentials, credentialRecords: records } = freshStore();
    if (!credentials) throw new Error('the store keeps no credentials');
    const { credentialService, signInService } = credentials;
    return { credentials: credentialService, records, signIns: signInService, dispose };
  });

  memoryServiceConformance('RedisMemoryService', async () => ({ service: freshStore().memory, dispose }));

  // The suites close what they open, and the connection serves all of them.
  const shared = () => ({ ...connection(), [Symbol.asyncDispose]: dispose });
  const host = {
    openStore: async ({ prefix }: { prefix: string }) => storeOn(shared(), { prefix }),
    openAdmin: async () => shared(),
  };
  callResultsConformance(host);
  jobRecordsConformance(host);
}
