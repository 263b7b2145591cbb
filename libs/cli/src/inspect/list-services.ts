import { openCards, openServiceStats, openWorkStreams } from '@agentmesh/bus';
import { type Command, listReport } from '../command/command.ts';
import { operatorOf } from '../context/surroundings.ts';

/** The command that lists services with their load. */
export const listServicesCommand: Command = {
  usage: '',
  meaning:
    'lists agents and tools: version, app, replicas, requests and errors since their start, messages in their queues',
  async run(_, around) {
    const address = operatorOf(around);
    await using cards = await openCards(address);
    await using streams = await openWorkStreams(address);
    await using stats = await openServiceStats(address);
    const queues = await streams.list();
    const rows = await Promise.all(
      (await cards.list()).map(async (card) => {
        const { kind, name, version } = card;
        const replicas = await stats.of(name);
        const waits = queues.filter(
          ({ kind: queue, consumer }) => consumer === name && (queue === 'job') === (kind === 'tool'),
        );
        return {
          ...{ kind, name, version },
          ...(card.kind === 'agent' && card.app !== undefined && { app: card.app }),
          replicas,
          waiting: sum(waits.map(({ waiting }) => waiting)),
          working: sum(waits.map(({ ackPending }) => ackPending)),
        };
      }),
    );
    return listReport(rows, ({ kind, name, version, replicas, waiting, working, ...row }) => {
      const app = 'app' in row ? `app ${row.app}` : '';
      const loads = replicas.flatMap(({ load }) => load ?? []);
      const load =
        loads.length === replicas.length
          ? `requests: ${sum(loads.map((each) => each.requests))}  errors: ${sum(loads.map((each) => each.errors))}`
          : 'requests: unknown, as this user may not ask';
      const parts = [kind, name, version, app, `replicas: ${replicas.length}`, load];
      return [...parts, `working: ${working}`, `waiting: ${waiting}`].filter(Boolean).join('  ');
    });
  },
};

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
