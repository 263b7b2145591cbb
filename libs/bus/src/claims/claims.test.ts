import { header, MeshError, subjects } from '@agentmesh/protocol';
import { until } from '@agentmesh/testing';
import { expect, it } from 'vitest';
import type { BrokerLink } from '../bus/broker-link.ts';
import { createClaims } from './claims.ts';

/** A link whose buckets must not be used. */
const link = {
  maxPayload: 1024,
  closed: new AbortController().signal,
  objects: () => expect.fail('a bucket was used'),
} as Partial<BrokerLink> as BrokerLink;
/** Some key of a payload. */
const key = 'k'.repeat(43);
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

it('removes a payload as soon as the broker is back, after the bus has stopped waiting for it', async () => {
  let tries = 0;
  let removed: string | undefined;
  const objects = () => ({
    async delete(id: string) {
      tries += 1;
      if (tries === 1) throw new MeshError('unavailable', 'the message server is away');
      removed = id;
    },
  });
  const { signal: closed } = new AbortController();
  const away = { maxPayload: 1024, closed, objects } as unknown as BrokerLink;
  createClaims(away, subjects()).drop(packet(`work.a.1.${key}`));
  await until(() => removed === 'a', { what: 'the removal' });
  expect(tries).toBe(2);
});

it('holds large payloads within its budgets, and refuses one over the size limit', async () => {
  const claims = createClaims(link, subjects());
  const half = packet(`news.a.${32 * 1024 * 1024}.${key}`);
  const lets = [await claims.hold(half, 'answering'), await claims.hold(half, 'answering')];
  const stop = new AbortController();
  const third = claims.hold(half, 'answering', stop.signal);
  // The handler of a request may itself wait for an answer, which has a budget of its own.
  (await claims.hold(half, 'arriving'))();
  stop.abort(new MeshError('cancelled', 'enough'));
  await expect(third).rejects.toMatchObject({ code: 'cancelled' });
  for (const letGo of lets) letGo();
  (await claims.hold(half, 'answering'))();
  await expect(claims.hold(packet(`news.a.99999999.${key}`), 'answering')).rejects.toMatchObject({
    code: 'invalid_argument',
  });
});
