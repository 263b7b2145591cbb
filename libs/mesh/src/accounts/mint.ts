import {
  type Account,
  createUser,
  encodeAccount,
  encodeOperator,
  encodeUser,
  fmtCreds,
  fromPublic,
  type KeyPair,
  type Operator,
} from '@nats-io/jwt';
import type { AccountKeys, OperatorKeys } from './key-folder.ts';
import { keyOf, seedOf } from './key-of.ts';

/** Returns the JWT of the operator, which its identity signs: the list of the keys that sign accounts. */
export async function mintOperator(
  identity: KeyPair,
  { signingSeeds }: OperatorKeys,
  systemAccount: string,
): Promise<string> {
  const claims: Partial<Operator> & { strict_signing_key_usage: boolean } = {
    signing_keys: signingSeeds.map((seed) => keyOf(seed).getPublicKey()),
    system_account: systemAccount,
    // The identities of the operator and of the accounts sign nothing else.
    strict_signing_key_usage: true,
  };
  return await encodeOperator('agentmesh', identity, claims);
}

/** Returns the JWT of an account, signed by a signing key of the operator. */
export async function mintAccount(
  name: string,
  account: string,
  claims: Partial<Account>,
  signer: KeyPair,
): Promise<string> {
  return await encodeAccount(name, fromPublic(account), claims, { signer });
}

/** Returns the credentials of a new user. Its rights are those of the key that signs it. */
export async function mintCredentials(
  name: string,
  { account, signing: [newest] }: AccountKeys,
  isScoped = true,
): Promise<Uint8Array> {
  const user = keyOf(seedOf(createUser()));
  const options = { signer: keyOf(newest?.seed ?? '', newest?.key), scopedUser: isScoped };
  return fmtCreds(await encodeUser(name, user, fromPublic(account), {}, options), user);
}
