import { MeshError, type SessionRef } from '@agentmesh/protocol';
import type { AuthCredential } from './auth-config.ts';
import type { SignInService } from './sign-in-service.ts';

/** A person's answer to a question for a credential. */
export interface AnsweredCredential {
  credentialKey: string;
  credential: AuthCredential;
}

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
  answers: ReadonlyMap<string, AnsweredCredential>,
): Promise<void> {
  if (answers.size === 0) return;
  if (!signInService) {
    throw new MeshError(
      'failed_precondition',
      'this process keeps no credentials: set CREDENTIAL_KEYS at a keeper, or in all processes of a mesh without keepers; or give the runner a signInService',
    );
  }
  for (const [questionId, { credentialKey, credential }] of answers)
    await signInService.answer({ ...ref, questionId }, credential, credentialKey);
}
