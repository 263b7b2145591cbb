import type { Context } from './context.ts';

/** Keeps what people let agents use on their behalf. Configurations and credentials are ADK's objects. */
export interface CredentialService {
  loadCredential(authConfig: unknown, context: Context): Promise<unknown>;
  saveCredential(authConfig: unknown, context: Context): Promise<void>;
}
