import { credentialServicesConformance } from '../conformance/credential-services.ts';
import { InMemoryCredentialService } from './in-memory-credential-service.ts';
import { InMemorySignInService } from './in-memory-sign-in-service.ts';

credentialServicesConformance('memory', async () => ({
  credentials: new InMemoryCredentialService(),
  signIns: new InMemorySignInService(),
  dispose: async () => {},
}));
