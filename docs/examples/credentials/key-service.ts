import { type KeyWrapper, runKeeper } from '@agentmesh/keeper';

// Any service that encrypts 32 bytes with a context: AWS KMS, Google Cloud KMS, the transit engine of Vault.
const { KMS_URL, KMS_TOKEN } = process.env;

async function ask(verb: 'encrypt' | 'decrypt', body: object): Promise<{ text: string }> {
  const response = await fetch(`${KMS_URL}/${verb}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KMS_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(5_000),
  });
  if (!response.ok) throw new Error(`the key service answered ${response.status}`);
  return (await response.json()) as { text: string };
}

const keyWrapper: KeyWrapper = {
  async wrap(dataKey, owner) {
    const text = Buffer.from(dataKey).toString('base64');
    return (await ask('encrypt', { text, context: owner })).text;
  },
  async unwrap(wrapped, owner) {
    const { text } = await ask('decrypt', { text: wrapped, context: owner });
    return Buffer.from(text, 'base64');
  },
};

await runKeeper({ keyWrapper });
