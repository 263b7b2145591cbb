import { setTimeout as delay } from 'node:timers/promises';
import { MeshError, meshTime } from '@agentmesh/protocol';
import type { Context } from '../base/context.ts';
import type { AuthConfig, AuthCredential } from '../credentials/auth-config.ts';
import { shownRequest } from '../credentials/credential-request.ts';
import type { KeptSignIn, SignInRef } from '../credentials/sign-in-service.ts';
import { questionIdOf } from '../events/question-id.ts';
import {
  credentialServicesOf,
  findCredential,
  holdMs,
  lookMs,
  oauthClient,
  save,
  savedCredential,
} from './find-credential.ts';
import { TokenError } from './token-error.ts';

/** The reason in the details of an error of the storage of credentials. */
export const credentialReason = 'credentials';
/**
 * Longest life of a code (ten minutes, RFC 6749 §4.1.2), in ms. After that nobody needs to wait for its
 * server.
 */
const codeLifeMs = 600_000;

/**
 * Tells whether the error concerns the storage of credentials. Such an error ends the run or causes a retry.
 * The model gets all other errors.
 */
export function isCredentialFailure(error: unknown): error is MeshError {
  return error instanceof MeshError && error.details?.reason === credentialReason;
}

/**
 * Takes people's answers to a call before the call runs again. Codes are redeemed once, and the resulting
 * credential is saved before the tool runs.
 *
 * @param isRemote true when the tool runs in another process, which takes the tool's answers itself; then
 * only answers to callbacks of the calling agent are taken
 * @throws TokenError `unauthenticated` for the model, when the authorization server refuses; all other errors
 * are credential failures
 */
export async function takeAnswers(context: Context, isRemote: boolean): Promise<void> {
  const { signInService } = context.services;
  if (!signInService || context.functionCallId === undefined) return;
  // A service without sign-ins may not look for one: its store would report each look as an attack.
  if (context.hasSignIn === false) return;
  for (let round = 1; round <= context.answers; round += 1) {
    await markFailures(async () => {
      const ref = refOf(context, round);
      const storedSignIn = await signInService.find(ref, isRemote);
      if (storedSignIn && storedSignIn.status !== 'asked') await takeAnswer(context, ref, storedSignIn);
    });
  }
}

/**
 * Handles a tool's request for a credential after the tool has returned. Returns true when the credential is
 * available without a person: the tool must run again with it. Otherwise saves the sign-in and adds the
 * question to the actions of the call.
 *
 * @throws TokenError for the model, when the authorization server refuses the application or cannot be
 * reached; all other errors are credential failures
 */
export async function provideRequested(context: Context, isRemote: boolean): Promise<boolean> {
  const { credentials, actions } = context;
  const { requestedConfig } = credentials;
  if (!requestedConfig) return false;
  return await markFailures(async () => {
    // The tool received the credential before and requests it again, so the credential did not work.
    const isNew = credentials.get(requestedConfig.credentialKey) === undefined;
    const credential = isNew ? await findCredential(requestedConfig, context) : undefined;
    if (!credential) {
      await askPerson(context, isRemote);
      return false;
    }
    credentials.give(requestedConfig.credentialKey, credential);
    credentials.requestedConfig = undefined;
    // State and file changes stay. The other actions are dropped, because the tool sets them again.
    const { stateDelta, artifactDelta } = actions;
    for (const key of Object.keys(actions)) Reflect.deleteProperty(actions, key);
    Object.assign(actions, {
      stateDelta,
      artifactDelta,
      requestedAuthConfigs: {},
      requestedToolConfirmations: {},
    });
    return true;
  });
}

/**
 * Saves the sign-in that the tool has requested, and adds the question to the actions of the call, without
 * secrets.
 */
export async function askPerson(context: Context, isRemote: boolean): Promise<void> {
  const { credentials, actions, functionCallId = '', answers, abortSignal } = context;
  const { requestedConfig } = credentials;
  if (!requestedConfig) return;
  const { signInService } = credentialServicesOf(context);
  const { beginSignIn } = await import('./begin-sign-in.ts');
  const signIn = {
    ...(await beginSignIn(requestedConfig, abortSignal)),
    ...(isRemote && { isCallers: true }),
  };
  const storedSignIn = await signInService.open(refOf(context, answers + 1), signIn);
  actions.requestedAuthConfigs[functionCallId] = shownRequest(requestedConfig, storedSignIn);
  credentials.requestedConfig = undefined;
}

function refOf(context: Context, round: number): SignInRef {
  const { appName, userId, sessionId, homeSessionId, functionCallId = '' } = context;
  const questionId = questionIdOf(functionCallId, 'credential', round);
  return { appName, userId, sessionId, homeSessionId, questionId };
}

async function takeAnswer(context: Context, ref: SignInRef, storedSignIn: KeptSignIn): Promise<void> {
  const { authConfig } = storedSignIn.signIn;
  const { credentials } = context;
  const credential =
    storedSignIn.status === 'answered' && storedSignIn.answer
      ? await exchange(context, ref, storedSignIn, storedSignIn.answer)
      : await afterOthers(context, ref, authConfig);
  if (credential) credentials.give(authConfig.credentialKey, credential);
}

async function exchange(
  context: Context,
  ref: SignInRef,
  { signIn, answeredAt = 0 }: KeptSignIn,
  answer: AuthCredential,
): Promise<AuthCredential | undefined> {
  const { signInService } = credentialServicesOf(context);
  if (!holdsCode(answer)) {
    await save(signIn.authConfig, context, answer);
    await signInService.move(ref, 'answered', 'closed');
    return answer;
  }
  const { redeemCode } = await oauthClient();
  context.abortSignal?.throwIfAborted();
  // After this move nobody sends the code a second time, even if this process dies.
  if (!(await signInService.move(ref, 'answered', 'taken')))
    return await afterOthers(context, ref, signIn.authConfig);
  let credential: AuthCredential;
  try {
    credential = await redeemCode(signIn, answer);
  } catch (error) {
    const isUnsent = error instanceof TokenError && error.isUnsent;
    const isGood = isUnsent && meshTime() - answeredAt < codeLifeMs;
    await signInService.move(ref, 'taken', isGood ? 'answered' : 'closed');
    if (!isGood) throw error;
    throw new MeshError('unavailable', error.message);
  }
  await save(signIn.authConfig, context, credential);
  await signInService.move(ref, 'taken', 'closed');
  return credential;
}

/** Tells whether the answer holds a code that must be redeemed. Tokens and keys are used directly. */
function holdsCode({ oauth2 }: AuthCredential): boolean {
  return oauth2?.accessToken === undefined && Boolean(oauth2?.authCode ?? oauth2?.authResponseUri);
}

/**
 * Another process has redeemed the code or died while doing so. The credential of that process serves this
 * call too. Without one, the tool asks again.
 */
async function afterOthers(
  context: Context,
  ref: SignInRef,
  authConfig: AuthConfig,
): Promise<AuthCredential | undefined> {
  const { signInService } = credentialServicesOf(context);
  const until = performance.now() + holdMs;
  while ((await signInService.statusOf(ref)) === 'taken') {
    if (performance.now() >= until) await signInService.move(ref, 'taken', 'closed');
    else await delay(lookMs, undefined, context.abortSignal ? { signal: context.abortSignal } : {});
  }
  return await savedCredential(authConfig, context);
}

/**
 * Marks failures of the framework. Errors of an authorization server are for the model and are not marked.
 */
async function markFailures<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TokenError || !(error instanceof MeshError)) throw error;
    const { code, message, details } = error;
    throw new MeshError(code, message, { cause: error, details: { ...details, reason: credentialReason } });
  }
}
