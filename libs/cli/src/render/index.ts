export type { ComposeImage, ComposeOptions } from './compose.ts';
export { composeFile } from './compose.ts';
export type { DeployedService } from './deployed-service.ts';
export { deployedServices, secretOf } from './deployed-service.ts';
export { helmValues } from './helm-values.ts';
export { renderCompose, renderHelm } from './project-files.ts';
export { natsConfiguration, redisStart, redisUsersFile } from './servers.ts';
