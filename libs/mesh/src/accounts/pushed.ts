import type { Account } from '@nats-io/jwt';

/** Tells whether a JWT that the servers have holds these claims, and is signed by a key. */
export function isPushed(jwt: string | undefined, claims: Partial<Account>, signer: string): boolean {
  if (jwt === undefined) return false;
  const [, body = ''] = jwt.split('.');
  const { iss, nats } = JSON.parse(Buffer.from(body, 'base64url').toString());
  const same = JSON.stringify({ ...claims, type: 'account', version: 2 }) === JSON.stringify(nats);
  return same && iss === signer;
}
