import { setTimeout as delay } from 'node:timers/promises';
import { MeshError } from '@agentmesh/protocol';
import type { Context } from '../base/context.ts';
import type { AuthConfig, AuthCredential } from '../credentials/auth-config.ts';
import { shownRequest } from '../credentials/credential-request.ts';
import type { KeptSignIn, SignInRef } from '../credentials/sign-in-service.ts';
import { questionIdOf } from '../events/question-id.ts';
import { beginSignIn } from './begin-sign-in.ts';
import { holdsCode, redeemCode } from './fetch-tokens.ts';
import {
  credentialServicesOf,
  findCredential,
  holdMs,
  lookMs,
  save,
  savedCredential,
} from './find-credential.ts';
import { TokenError } from './token-error.ts';

const reason = 'credentials';
/** A code lives ten minutes at most, as RFC 6749 §4.1.2 has it: after that its server need not be waited for. */
const codeLifeMs = 600_000;

/** Is it an error of keeping credentials, which ends the run or has it tried again, rather than one that the model is told of? */
export function isCredentialFailure(error: unknown): error is MeshError {
  return error instanceof MeshError && error.details?.reason === reason;
}

/**
 * Before a call is made again: takes what people answered to it. Codes are redeemed, once, and what comes of them is saved before the tool runs.
 *
 * @param isRemote the tool runs elsewhere, and takes its answers there: only those to the callbacks of the calling agent are taken
 * @throws TokenError `unauthenticated` for the model, when the authorization server refuses; all else is a credential failure
 */
export async function takeAnswers(context: Context, isRemote: boolean): Promise<void> {
  const { signInService } = context.services;
  if (!signInService || context.functionCallId === undefined) return;
  for (let round = 1; round <= context.answers; round += 1) {
    await ofOurs(async () => {
      const ref = refOf(context, round);
      const kept = await signInService.find(ref);
      const isOurs = (kept?.signIn.isCallers ?? false) === isRemote;
      if (kept && isOurs && kept.status !== 'asked') await takeAnswer(context, ref, kept);
    });
  }
}

/**
 * After a tool has returned: has it asked for a credential that can be had without a person? Then it has it now, and is to be run again. Otherwise
 * the sign-in is kept, and the question is in the actions of the call.
 *
 * @throws TokenError for the model, when the authorization server refuses the application or cannot be reached; all else is a credential failure
 */
export async function provideWanted(context: Context, isRemote: boolean): Promise<boolean> {
  const { credentials, actions } = context;
  const { wanted } = credentials;
  if (!wanted) return false;
  return await ofOurs(async () => {
    // Given before, and asked for again: it was of no use.
    const isNew = credentials.get(wanted.credentialKey) === undefined;
    const found = isNew ? await findCredential(wanted, context) : undefined;
    if (!found) {
      await askPerson(context, isRemote);
      return false;
    }
    credentials.give(wanted.credentialKey, found);
    credentials.wanted = undefined;
    // What it did, it did; what it said of the course of things is said anew.
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

/** Keeps the sign-in that the tool has asked for, and puts the question into the actions of the call: without anything secret. */
export async function askPerson(context: Context, isRemote: boolean): Promise<void> {
  const { credentials, actions, functionCallId = '', answers, abortSignal } = context;
  const { wanted } = credentials;
  if (!wanted) return;
  const { signInService } = credentialServicesOf(context);
  const signIn = { ...(await beginSignIn(wanted, abortSignal)), ...(isRemote && { isCallers: true }) };
  const kept = await signInService.open(refOf(context, answers + 1), signIn);
  actions.requestedAuthConfigs[functionCallId] = shownRequest(wanted, kept);
  credentials.wanted = undefined;
}

function refOf({ appName, userId, sessionId, functionCallId = '' }: Context, round: number): SignInRef {
  return { appName, userId, sessionId, questionId: questionIdOf(functionCallId, 'credential', round) };
}

async function takeAnswer(context: Context, ref: SignInRef, kept: KeptSignIn): Promise<void> {
  const { authConfig } = kept.signIn;
  const { credentials } = context;
  const credential =
    kept.status === 'answered' && kept.answer
      ? await exchange(context, ref, kept, kept.answer)
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
  context.abortSignal?.throwIfAborted();
  // From here on nobody sends this code a second time, whatever becomes of us.
  if (!(await signInService.move(ref, 'answered', 'taken')))
    return await afterOthers(context, ref, signIn.authConfig);
  let credential: AuthCredential;
  try {
    credential = await redeemCode(signIn, answer);
  } catch (error) {
    const isUnsent = error instanceof TokenError && error.isUnsent;
    const isGood = isUnsent && Date.now() - answeredAt < codeLifeMs;
    await signInService.move(ref, 'taken', isGood ? 'answered' : 'closed');
    if (!isGood) throw error;
    throw new MeshError('unavailable', error.message);
  }
  await save(signIn.authConfig, context, credential);
  await signInService.move(ref, 'taken', 'closed');
  return credential;
}

/** Another process has the code, or had it: its credential is ours too. When it died with it, there is none, and the tool asks again. */
async function afterOthers(
  context: Context,
  ref: SignInRef,
  authConfig: AuthConfig,
): Promise<AuthCredential | undefined> {
  const { signInService } = credentialServicesOf(context);
  const until = performance.now() + holdMs;
  while ((await signInService.find(ref))?.status === 'taken') {
    if (performance.now() >= until) await signInService.move(ref, 'taken', 'closed');
    else await delay(lookMs, undefined, context.abortSignal ? { signal: context.abortSignal } : {});
  }
  return await savedCredential(authConfig, context);
}

/** Marks failures of the framework: what an authorization server says is for the model to hear. */
async function ofOurs<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TokenError || !(error instanceof MeshError)) throw error;
    const { code, message, details } = error;
    throw new MeshError(code, message, { cause: error, details: { ...details, reason } });
  }
}
