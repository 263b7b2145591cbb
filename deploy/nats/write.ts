import { writeFileSync } from 'node:fs';
import { natsConfiguration } from './configuration.ts';

// node deploy/nats/write.ts: after a change of what a service uses.
writeFileSync(new URL('nats-server.conf', import.meta.url), natsConfiguration());
