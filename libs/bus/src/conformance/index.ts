import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import type { BrokerLink } from '../bus/broker-link.ts';
import type { Bus } from '../bus/bus.ts';
import { describeAlone } from './alone.ts';
import { describeBuckets } from './buckets.ts';
import { describeDiscovery } from './discovery.ts';
import { describeFailures } from './failures.ts';
import { describeLargePayloads } from './large-payloads.ts';
import { describeRequests } from './requests.ts';
import { describeServing } from './serving.ts';
import { describeSubscriptions } from './subscriptions.ts';
import { describeWork } from './work.ts';
import type { Scene, World } from './world.ts';

export type { Scene, World, WorldConnectOptions } from './world.ts';

/** Declares the tests that every implementation of `Bus` passes. All of them share one world. */
export function busConformance(name: string, makeWorld: () => Promise<World>): void {
  describe(`bus: ${name}`, () => {
    let world: World;
    const open: (Bus | BrokerLink)[] = [];

    beforeAll(async () => {
      world = await makeWorld();
    });
    afterEach(async () => {
      await Promise.all(
        open.splice(0).map((one) => ('close' in one ? one.close() : one[Symbol.asyncDispose]())),
      );
    });
    afterAll(() => world[Symbol.asyncDispose]());

    const scene: Scene = {
      async connect(service, options) {
        const bus = await world.connect(service, options);
        open.push(bus);
        return bus;
      },
      async openLink() {
        const link = await world.openLink();
        open.push(link);
        return link;
      },
      provision: (agents, ackWaitMs = 10_000) => world.provision(agents, ackWaitMs),
      kill: (bus) => world.kill(bus),
      name: (word) => `${word}_${randomBytes(4).toString('hex')}`,
    };

    describeSubscriptions(scene);
    describeRequests(scene);
    describeFailures(scene);
    describeServing(scene);
    describeWork(scene);
    describeAlone(scene);
    describeDiscovery(scene);
    describeBuckets(scene);
    describeLargePayloads(scene);
  });
}
