import { type ObservedCanary, openCanaries } from '@agentmesh/bus';
import { canaryFigures, figuresOf, type VersionFigures } from '@agentmesh/mesh';
import { MeshError } from '@agentmesh/protocol';
import { type Commands, listReport, type Surroundings } from '../command/command.ts';
import { Misuse } from '../command/program.ts';
import { operatorOf, withMesh } from '../context/surroundings.ts';

/** The commands for canaries of agents, by their words. */
export const canaryCommands: Commands = {
  'canary list': {
    usage: '',
    meaning:
      'lists the canaries: share, runs in their queues; replicas, runs, failed runs and times of each version since it began',
    async run(_, around) {
      await using canaries = await openCanaries(operatorOf(around));
      return listReport(await withFigures(around, await canaries.list()), lineOf);
    },
  },
  'canary set': {
    usage: '<agent> <version> <percent>',
    meaning:
      'gives a version of an agent the runs of a share of the sessions, from 0 to 100 percent, and of the asks',
    options: [
      {
        flags: '--pinned',
        meaning: 'answers to a question go to the version that asked, whatever the share',
      },
    ],
    more: 'Start replicas of the version (MESH_VERSION) before or after; without any, the others take the runs. Asks of the agent, also by other agents (AgentTool), have the same share, by chance and not by session. docs/operations.md has the steps.',
    async run([agent = '', version = '', share = ''], around, options) {
      if (!/^\d{1,3}(\.\d+)?$/.test(share) || Number(share) > 100)
        throw new Misuse(`${JSON.stringify(share)} is no share; write a number from 0 to 100`);
      const canary = { agent, version, percent: Number(share), pinned: options.flag('pinned') };
      await using canaries = await openCanaries(operatorOf(around));
      await canaries.put(canary);
      const observed = (await canaries.list()).find((each) => each.agent === agent);
      const up = observed?.replicas ?? [];
      const isUp = up.some((each) => each.version === version);
      const isAlone = isUp && up.every((each) => each.version === version);
      return {
        lines: [
          `version ${version} of ${agent} gets the runs of ${canary.percent} % of the sessions, and about as many of the asks`,
          ...(isAlone
            ? [
                `all replicas of ${agent} have version ${version}: they take all its runs; start replicas of another version, or: agentmesh canary end ${agent}`,
              ]
            : []),
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

interface ListedCanary extends ObservedCanary {
  versions: VersionFigures[];
  /** The reason why the figures are missing. */
  problem?: string;
}

/** Adds the figures of each version. The canaries are listed without them while Redis does not answer. */
async function withFigures(
  around: Pick<Surroundings, 'config' | 'log'>,
  list: readonly ObservedCanary[],
): Promise<ListedCanary[]> {
  if (list.length === 0) return [];
  try {
    return await withMesh(
      around,
      async (mesh) =>
        await Promise.all(
          list.map(async (each) => ({ ...each, versions: await canaryFigures(mesh, each, each.replicas) })),
        ),
    );
  } catch (error) {
    const problem = MeshError.from(error).message;
    return list.map((each) => ({ ...each, versions: figuresOf(each, each.replicas, undefined), problem }));
  }
}

function lineOf({
  agent,
  version,
  percent,
  pinned,
  ending,
  queued,
  versions,
  problem,
}: ListedCanary): string {
  const share = `${version} gets ${percent} %${pinned ? ', pinned' : ''}${ending ? ', ending' : ''}`;
  const missing = problem === undefined ? [] : [`no figures: ${problem}`];
  return [agent, share, `queued: ${queued}`, ...versions.map(figuresText), ...missing].join('  ');
}

function figuresText({ version, replicas, runs, failed, p50Ms, p95Ms }: VersionFigures): string {
  const ended = runs === undefined ? '' : `, ${runs} runs, ${failed} failed`;
  const times = p50Ms === undefined ? '' : `, p50 ${p50Ms} ms, p95 ${p95Ms} ms`;
  return `${version}: ${replicas} replicas${ended}${times}`;
}
