export { artifactServiceConformance } from './artifact-service.ts';
export type { MakeCredentialServices } from './credential-services.ts';
export { credentialServicesConformance } from './credential-services.ts';
export { memoryServiceConformance } from './memory-service.ts';
export type { MakeSessionService } from './session-service.ts';
export { sessionServiceConformance } from './session-service.ts';
