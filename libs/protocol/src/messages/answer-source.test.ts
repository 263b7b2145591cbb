import { describe, expect, it } from 'vitest';
import { type AnsweringRun, readSource, signSource, type Voucher } from './answer-source.ts';
import type { AnsweredBy } from './answered-by.ts';
import { signCaller } from './caller.ts';
import { createSigner } from './signer.ts';

const response = { id: 'q', name: 'adk_request_confirmation', response: { confirmed: true } };
const run: AnsweringRun = {
  ...{ appName: 'shop', userId: 'ann', sessionId: 's', invocationId: 'e-1', resume: 'r-1' },
  message: { role: 'user', parts: [{ functionResponse: response }] },
};
const manager: AnsweredBy = { by: 'eve', via: 'rest', service: 'gateway', roles: ['manager'] };
const outside: AnsweredBy = { by: 'eve', via: 'nats', service: 'client', roles: ['manager'] };

/** A gateway and an agent, whose public keys are stored. */
async function stored() {
  const [gateway, agent] = [await createSigner(), await createSigner()];
  const keyOf = async (voucher: Voucher, keyId: string) =>
    ({ gateway, agent })[voucher].keyId === keyId ? { gateway, agent }[voucher].publicKey : undefined;
  return { gateway, agent, read: (signed: string, of = run) => readSource(signed, of, keyOf) };
}

describe('the source of an answer', () => {
  it('is that for which a gateway vouches, for this message in any order of fields', async () => {
    const { gateway, read } = await stored();
    const signed = await signSource(gateway, 'gateway', run, manager);
    expect(await read(signed)).toEqual(manager);
    const { id, name, response: given } = response;
    const reordered = { parts: [{ functionResponse: { response: given, name, id } }], role: 'user' };
    expect(await read(signed, { ...run, message: reordered })).toEqual(manager);
  });

  it.each<[string, Partial<AnsweringRun>]>([
    ['another app', { appName: 'bank' }],
    ['another user', { userId: 'bob' }],
    ['another session', { sessionId: 't' }],
    ['another invocation', { invocationId: 'e-2' }],
    ['another continuation', { resume: 'r-2' }],
    ['no continuation', { resume: undefined }],
    [
      'another answer',
      { message: { role: 'user', parts: [{ functionResponse: { ...response, id: 'p' } }] } },
    ],
  ])('is not believed for %s', async (_what, other) => {
    const { gateway, read } = await stored();
    expect(
      await read(await signSource(gateway, 'gateway', run, manager), { ...run, ...other }),
    ).toBeUndefined();
  });

  it.each<[string, AnsweredBy, AnsweredBy | undefined]>([
    ['an update', outside, outside],
    ['a job', { ...outside, via: 'job' }, { ...outside, via: 'job' }],
    ['a deadline', { by: 'desk', via: 'deadline' }, { by: 'desk', via: 'deadline' }],
    ['a person at a gateway', manager, undefined],
    ['a gateway', { ...outside, service: 'gateway' }, undefined],
    ['a way of its own', { ...outside, via: 'desk' }, undefined],
  ])('is believed of an agent, or not: %s', async (_what, answeredBy, believed) => {
    const { agent, read } = await stored();
    expect(await read(await signSource(agent, 'agent', run, answeredBy))).toEqual(believed);
  });

  it('is not believed with the key of another kind of service, or another token', async () => {
    const { gateway, agent, read } = await stored();
    const stranger = await createSigner();
    const forged = [
      await signSource(agent, 'gateway', run, manager),
      await signSource(gateway, 'agent', run, outside),
      await signSource(stranger, 'gateway', run, manager),
      await signSource(stranger, 'agent', run, outside),
      await signCaller(gateway, run, { via: 'keys', roles: ['manager'] }),
      'nonsense',
    ];
    for (const signed of forged) expect(await read(signed), signed).toBeUndefined();
  });

  it('is not known while the keys cannot be read', async () => {
    const { gateway } = await stored();
    const signed = await signSource(gateway, 'gateway', run, manager);
    const away = new Error('away');
    await expect(readSource(signed, run, () => Promise.reject(away))).rejects.toBe(away);
  });

  it('must fit into a header', async () => {
    const { gateway } = await stored();
    const roles = Array.from({ length: 100 }, (_, at) => `${at}`.padEnd(100, 'x'));
    await expect(signSource(gateway, 'gateway', run, { ...manager, roles })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('fewer roles'),
    });
  });
});
