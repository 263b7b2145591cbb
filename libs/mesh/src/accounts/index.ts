export { readDefinitions } from './definitions.ts';
export { lockKeys } from './folder-lock.ts';
export type { KeyFolder, MeshFolder } from './key-folder.ts';
export { openKeyFolder } from './key-folder.ts';
export { keyOf } from './key-of.ts';
export type { ListedAccount } from './list-accounts.ts';
export { listAccounts } from './list-accounts.ts';
export { initAccounts, rotateSigningKey } from './operator.ts';
export type { Pushed, Tenancy } from './tend-accounts.ts';
export {
  addServices,
  beginRotation,
  finishRotation,
  pushAccounts,
  removeServices,
  setServices,
} from './tend-accounts.ts';
