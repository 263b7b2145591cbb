import { readFileSync } from 'node:fs';
import { connectNats, provision } from '@agentmesh/bus';
import {
  busName,
  clientManifest,
  gatewayManifest,
  natsPasswordVariable,
  provisionUser,
} from '@agentmesh/mesh';
import { startNats } from '@agentmesh/testing/servers';
import { describe, expect, it } from 'vitest';
import { samples } from '../local/samples.ts';

const text = readFileSync(new URL('nats-server.conf', import.meta.url), 'utf8');
const services = samples.map(({ manifest }) => manifest);
const users = [provisionUser, ...[gatewayManifest, clientManifest, ...services].map(busName)];

describe('deploy/nats/nats-server.conf', () => {
  it('reads the password of each user from the environment', () => {
    for (const user of users) expect(text).toContain(`password: $${natsPasswordVariable(user)} `.trimEnd());
  });

  it('starts a real server on which every service can do its first steps', async () => {
    const configuration = text.replace(/\$(NATS_PASSWORD_\w+)/g, '"secret-$1"');
    await using nats = await startNats({ configuration });
    const login = (user: string) => ({ url: nats.url, user, pass: `secret-${natsPasswordVariable(user)}` });
    const agents = services.flatMap(({ kind, name }) => (kind === 'agent' ? [name] : []));
    await provision({ ...login(provisionUser), agents });
    for (const manifest of services) {
      const errors: unknown[] = [];
      const service = busName(manifest);
      const cards = manifest.kind === 'agent';
      await using bus = await connectNats({
        ...login(service),
        service,
        cards,
        onError: (error) => errors.push(error),
      });
      const { kind, name } = manifest;
      if (kind === 'agent') {
        await bus.announce({ kind, name });
        const runs = await bus.consumeRuns(name, async () => ({ done: true }), { maxConcurrency: 1 });
        await runs.stop();
      }
      expect(errors, service).toEqual([]);
    }
  });
});
