import { type ObservedCanary, openCanaries } from '@agentmesh/bus';
import { type Commands, listReport } from '../command/command.ts';
import { Misuse } from '../command/program.ts';
import { operatorOf } from '../context/surroundings.ts';

/** The commands for canaries of agents, by their words. */
export const canaryCommands: Commands = {
  'canary list': {
    usage: '',
    meaning: 'lists the canaries: share, runs in their queues; replicas, runs and errors of each version',
    async run(_, around) {
      await using canaries = await openCanaries(operatorOf(around));
      return listReport(await canaries.list(), lineOf);
    },
  },
  'canary set': {
    usage: '<agent> <version> <percent>',
    meaning: 'gives a version of an agent the runs of a share of the sessions, from 0 to 100 percent',
    options: [
      {
        flags: '--pinned',
        meaning: 'answers to a question go to the version that asked, whatever the share',
      },
    ],
    more: 'Start replicas of the version (MESH_VERSION) before or after; without any, the others take the runs. docs/operations.md has the steps.',
    async run([agent = '', version = '', share = ''], around, options) {
      if (!/^\d{1,3}(\.\d+)?$/.test(share) || Number(share) > 100)
        throw new Misuse(`${JSON.stringify(share)} is no share; write a number from 0 to 100`);
      const canary = { agent, version, percent: Number(share), pinned: options.flag('pinned') };
      await using canaries = await openCanaries(operatorOf(around));
      await canaries.put(canary);
      const observed = (await canaries.list()).find((each) => each.agent === agent);
      const isUp = observed?.replicas.some((each) => each.version === version) ?? false;
      return {
        lines: [
          `version ${version} of ${agent} gets the runs of ${canary.percent} % of the sessions`,
          ...(isUp
            ? []
            : [
                `no replica of ${version} is up: the others take its runs; start one with MESH_VERSION=${version}`,
              ]),
        ],
        json: { ...canary, isUp },
      };
    },
  },
  'canary end': {
    usage: '<agent>',
    meaning: 'ends a canary when replicas of one version are left; waits until its queue is empty',
    async run([agent = ''], around) {
      await using canaries = await openCanaries(operatorOf(around));
      await canaries.end(agent, { waitMs: endMs });
      return { lines: [`${agent} has no canary any more`], json: { ended: agent } };
    },
  },
};

/** Longest wait for the runs in the queue of a canary that ends, in ms. */
const endMs = 60_000;

function lineOf({ agent, version, percent, pinned, ending, queued, replicas }: ObservedCanary): string {
  const versions = Map.groupBy(replicas, (each) => each.version ?? 'unknown');
  // A version without replicas is told too: it may have died, or be misspelled.
  if (!versions.has(version)) versions.set(version, []);
  const figures = [...versions].sort().map(([each, ofVersion]) => {
    const sum = (of: 'work' | 'errors') =>
      ofVersion.reduce((total, { load }) => total + (load?.[of] ?? 0), 0);
    return `${each}: ${ofVersion.length} replicas, ${sum('work')} runs, ${sum('errors')} errors`;
  });
  const share = `${version} gets ${percent} %${pinned ? ', pinned' : ''}${ending ? ', ending' : ''}`;
  return [agent, share, `queued: ${queued}`, ...figures].join('  ');
}
