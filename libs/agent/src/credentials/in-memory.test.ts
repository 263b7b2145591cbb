import { credentialServicesConformance } from '../conformance/credential-services.ts';
import { InMemoryCredentialService } from './in-memory-credential-service.ts';
import { InMemorySignInService } from './in-memory-sign-in-service.ts';

credentialServicesConformance('memory', async () => {
  const credentials = new InMemoryCredentialService();
  return {
    credentials,
    records: credentials,
    signIns: new InMemorySignInService(),
    dispose: async () => {},
  };
});
