import { subjects } from '@agentmesh/protocol';
import type { BrokerLink } from '../../../libs/bus/src/bus/broker-link.ts';
import { SimBroker } from '../broker/sim-broker.ts';
import { Ops } from '../faults/ops.ts';
import { noRates } from '../faults/rates.ts';
import { type Life, newLife } from '../world/life.ts';
import { within } from '../world/patches.ts';
import { World } from '../world/world.ts';
import { ackWaitMs, carryOut, type Step } from './program.ts';

/** The time for a program, in virtual ms. */
const limitMs = 3_600_000;
const downMs = 100;
/** The time in which all connections are up again after a restart, in ms. */
const backMs = downMs * 2;

/** Carries a program out on the simulated server. Returns what its steps have shown. */
export async function onTwin(program: readonly Step[]): Promise<unknown[]> {
  const world = new World('recorded');
  return await within(world, async () => {
    const ops = new Ops({ world, faults: [], onCrash() {}, onPause() {}, onFailover() {} });
    const broker = new SimBroker({ world, ops, rates: { ...noRates } }, subjects(), { ackWaitMs });
    const me = newLife('program', 1);
    const lives = new Map<unknown, Life>();
    let shown: unknown[] | undefined;
    const failed: unknown[] = [];
    const server = {
      bucket: 'RECORDED',
      async connect() {
        const life = newLife(`client/${lives.size}`, 1);
        const link = broker.connect(life, { service: 'recorded', inbox: `_INBOX_${lives.size}` });
        lives.set(link, life);
        return link;
      },
      async cut(link: BrokerLink) {
        broker.dropLife(lives.get(link) as Life);
        await link.close();
      },
      async restart() {
        broker.restart(downMs);
        await new Promise((resolve) => setTimeout(resolve, backMs));
      },
    };
    world.at(0, () =>
      world.as(me, () => {
        carryOut(server, program).then(
          (all) => (shown = all),
          (error: unknown) => failed.push(error),
        );
      }),
    );
    await world.run(() => shown !== undefined || failed.length > 0, limitMs);
    if (!shown) throw failed[0] ?? new Error('the program does not end');
    return shown;
  });
}
