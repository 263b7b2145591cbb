export { artifactServiceConformance } from './artifacts/artifact-service.ts';
export type { MakeCredentialServices } from './credential-services.ts';
export { credentialServicesConformance } from './credential-services.ts';
export { memoryServiceConformance } from './memory/memory-service.ts';
export type { MakeSessionService } from './sessions/session-service.ts';
export { sessionServiceConformance } from './sessions/session-service.ts';
