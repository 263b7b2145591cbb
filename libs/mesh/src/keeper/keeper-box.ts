import type { Bus } from '@agentmesh/bus';
import {
  MeshError,
  newReceiverKeys,
  type PublicKey,
  parse,
  rightFor,
  type SecretAnswer,
  type SecretBox,
  type SecretRequest,
  type SecretUse,
  type Subjects,
  sealMessage,
  secretAnswers,
} from '@agentmesh/protocol';
import type { z } from 'zod';
import { askPatiently } from '../artifacts/ask-keeper.ts';

type Using = Extract<SecretRequest, { use: SecretUse }>;

/**
 * Makes the box of a process without keys: it asks keepers, which seal and open secrets only for work that the
 * service has in hand. Secrets are encrypted on the way, for the keepers or for this process alone. Nothing is
 * asked before the first secret.
 */
export function keeperBox(
  bus: Pick<Bus, 'request' | 'service'>,
  subjects: Pick<Subjects, 'secret'>,
): SecretBox {
  let keepersKey: Promise<PublicKey> | undefined;

  async function ask<V extends SecretRequest['do']>(
    request: Extract<SecretRequest, { do: V }>,
    right: string,
  ): Promise<SecretAnswer<V>> {
    const subject = subjects.secret(bus.service, right);
    const answer = await askPatiently(bus, subject, request, { what: 'credentials' });
    const schema: z.ZodType = secretAnswers[request.do];
    return parse(schema, answer, 'the answer of a keeper') as SecretAnswer<V>;
  }

  async function sealOnce(text: string, use: SecretUse, right: string): Promise<string> {
    keepersKey ??= ask<'key'>({ do: 'key' }, right).then(({ key }) => key);
    const key = await keepersKey.catch((error: unknown) => {
      keepersKey = undefined;
      throw error;
    });
    const message = await sealMessage(text, key);
    return (await ask<'seal'>({ do: 'seal', use, message }, right)).sealed;
  }

  return {
    async seal(text, _place, use) {
      const right = rightFor({ do: 'seal', use } as Using);
      try {
        return await sealOnce(text, use, right);
      } catch (error) {
        if (!isOtherKey(error)) throw error;
        // The keepers have made a new key since.
        keepersKey = undefined;
        return await sealOnce(text, use, right);
      }
    },
    async open(sealed, _place, use) {
      const keys = await newReceiverKeys();
      const request = { do: 'open', use, sealed, to: keys.publicKey } as const;
      return await keys.open((await ask<'open'>(request, rightFor(request))).message);
    },
  };
}

const otherKey = 'other key';

/** The error for a secret that was encrypted for another key than that of the keepers. */
export function sealedForOtherKey(cause: unknown): MeshError {
  return new MeshError('failed_precondition', 'the secret was encrypted for another key of the keepers', {
    cause,
    details: { reason: otherKey },
  });
}

function isOtherKey(error: unknown): boolean {
  return error instanceof MeshError && error.details?.reason === otherKey;
}
