import { header, MeshError, subjects } from '@agentmesh/protocol';
import { expect, it } from 'vitest';
import type { BrokerLink } from '../bus/broker-link.ts';
import { createClaims } from './claims.ts';

/** A link whose buckets must not be used. */
const link = {
  maxPayload: 1024,
  objects: () => expect.fail('a bucket was used'),
} as Partial<BrokerLink> as BrokerLink;
const packet = (claim: string) => ({
  subject: 's',
  headers: { [header.claim]: claim },
  bytes: new Uint8Array(),
});

it.each(['garbage', '', 'other.a.1', 'news.a.x'])(
  'drops nothing for the claim %j, without an error',
  (claim) => {
    expect(() => createClaims(link, subjects()).drop(packet(claim))).not.toThrow();
  },
);

it('holds large payloads within its budgets, and refuses one over the size limit', async () => {
  const claims = createClaims(link, subjects());
  const half = packet(`news.a.${32 * 1024 * 1024}`);
  const lets = [await claims.hold(half, 'answering'), await claims.hold(half, 'answering')];
  const stop = new AbortController();
  const third = claims.hold(half, 'answering', stop.signal);
  // The handler of a request may itself wait for an answer, which has a budget of its own.
  (await claims.hold(half, 'arriving'))();
  stop.abort(new MeshError('cancelled', 'enough'));
  await expect(third).rejects.toMatchObject({ code: 'cancelled' });
  for (const letGo of lets) letGo();
  (await claims.hold(half, 'answering'))();
  await expect(claims.hold(packet('news.a.99999999'), 'answering')).rejects.toMatchObject({
    code: 'invalid_argument',
  });
});
