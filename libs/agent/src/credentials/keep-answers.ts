import { MeshError, type SessionRef } from '@agentmesh/protocol';
import type { AuthCredential } from './auth-config.ts';
import type { SignInService } from './sign-in-service.ts';

/**
 * Keeps the credentials of a message, before the message itself is committed: a process that dies in between keeps them again. Who answers
 * after the question's time is asked anew, by the call that is then made again.
 *
 * @throws MeshError `failed_precondition` where nothing keeps credentials
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
