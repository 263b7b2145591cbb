import { openCards, openOrphans, openServiceStats, openWorkStreams, shownVersion } from '@agentmesh/bus';
import { decodeToken } from '@agentmesh/protocol';
import { type Command, listReport } from '../command/command.ts';
import { operatorOf } from '../context/surroundings.ts';
import { orphanSentence } from '../local/orphan-watch.ts';

/** The command that lists services with their load. */
export const listServicesCommand: Command = {
  usage: '',
  meaning:
    'lists agents and tools: version, app, replicas; requests, runs or jobs, and errors since their start; messages in their queues; and messages that no service takes',
  async run(_, around) {
    const address = operatorOf(around);
    await using cards = await openCards(address);
    await using streams = await openWorkStreams(address);
    await using stats = await openServiceStats(address);
    await using orphans = await openOrphans(address);
    const queues = await streams.list();
    const rows = await Promise.all(
      (await cards.list()).map(async (card) => {
        const { kind, name } = card;
        const replicas = await stats.of(name);
        const version = shownVersion(card.version, replicas);
        const waits = queues.filter(
          ({ kind: queue, consumer }) =>
            decodeToken(consumer) === name && (queue === 'job') === (kind === 'tool'),
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
    const report = listReport(rows, ({ kind, name, version, replicas, waiting, working, ...row }) => {
      const app = 'app' in row ? `app ${row.app}` : '';
      const loads = replicas.flatMap(({ load }) => load ?? []);
      const counts = [
        `requests: ${sum(loads.map((each) => each.requests))}`,
        `${kind === 'agent' ? 'runs' : 'jobs'}: ${sum(loads.map((each) => each.work))}`,
        `errors: ${sum(loads.map((each) => each.errors))}`,
      ];
      const load = loads.length === replicas.length ? counts.join('  ') : 'requests: not counted';
      const parts = [kind, name, version, app, `replicas: ${replicas.length}`, load];
      return [...parts, `working: ${working}`, `waiting: ${waiting}`].filter(Boolean).join('  ');
    });
    const lost = await orphans.list();
    const names = rows.map(({ name }) => name);
    return {
      lines: [...report.lines, ...lost.map((each) => orphanSentence(each, names))],
      json: [...rows, ...lost.map(({ subject, count }) => ({ kind: 'orphans', subject, waiting: count }))],
    };
  },
};

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
