import { busConformance } from '../conformance/index.ts';
import { MemoryHub } from './memory-hub.ts';

busConformance('memory', async () => {
  const hub = new MemoryHub();
  return {
    connect: (service, options) => hub.connect({ service, ...options }),
    openLink: async () => hub.openLink('plain'),
    provision: async () => {},
    kill: async (bus) => hub.kill(bus),
    async [Symbol.asyncDispose]() {},
  };
});
