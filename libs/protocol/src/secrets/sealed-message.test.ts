import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { newReceiverKeys, publicKeySchema, receiverKeysOf, sealMessage } from './sealed-message.ts';

it('a sealed message is read by its receiver alone, and hides its text', async () => {
  const [receiver, other] = [await newReceiverKeys(), await newReceiverKeys()];
  const message = await sealMessage('the secret of ann', publicKeySchema.parse(receiver.publicKey));
  expect(await receiver.open(message)).toBe('the secret of ann');
  expect(Buffer.from(message, 'base64').toString('latin1')).not.toContain('secret');
  await expect(other.open(message)).rejects.toMatchObject({ code: 'permission_denied' });
  const changed = `${message.slice(0, -6)}${message.endsWith('AAAAAA') ? 'BBBBBB' : 'AAAAAA'}`;
  await expect(receiver.open(changed)).rejects.toMatchObject({ code: 'permission_denied' });
  expect(await sealMessage('x', receiver.publicKey)).not.toBe(await sealMessage('x', receiver.publicKey));
});

it('the same bytes give the same keys in each process', async () => {
  const bytes = randomBytes(32);
  const message = await sealMessage('text', receiverKeysOf(bytes).publicKey);
  expect(await receiverKeysOf(bytes).open(message)).toBe('text');
  await expect(receiverKeysOf(randomBytes(32)).open(message)).rejects.toMatchObject({
    code: 'permission_denied',
  });
});
