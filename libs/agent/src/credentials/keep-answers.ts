import { MeshError, type SessionRef } from '@agentmesh/protocol';
import type { AuthCredential } from './auth-config.ts';
import type { SignInService } from './sign-in-service.ts';

/**
 * Saves the credentials of a message before the message is committed, so a process that dies in between saves
 * them again. A person who answers after the question's time limit is asked again, by the call that then runs
 * again.
 *
 * @throws MeshError `failed_precondition` without a sign-in service
 */
export async function keepAnswers(
  signInService: SignInService | undefined,
  ref: SessionRef,
  credentials: ReadonlyMap<string, AuthCredential>,
): Promise<void> {
  if (credentials.size === 0) return;
  if (!signInService) {
    throw new MeshError(
      'failed_precondition',
      'this process keeps no credentials: set CREDENTIAL_KEYS, the same for the gateway, agents and tools',
    );
  }
  for (const [questionId, credential] of credentials)
    await signInService.answer({ ...ref, questionId }, credential);
}
