import { type Ghost, openWorkStreams, type SweptQueue } from '@agentmesh/bus';
import { judgeGhost } from '@agentmesh/mesh';
import { type QueueKind, subjects } from '@agentmesh/protocol';
import { type Commands, listReport } from '../command/command.ts';
import { operatorOf, withMesh } from '../context/surroundings.ts';

/** The commands for the work queues, by their words. */
export const streamCommands: Commands = {
  'streams list': {
    usage: '',
    meaning: 'lists the work queues: messages kept, waiting, without acknowledgement, and ghosts',
    async run(_, around) {
      await using streams = await openWorkStreams(operatorOf(around));
      return listReport(
        await streams.list(),
        ({ kind, consumer, ...figures }) => `${kind}  ${consumer}  ${words(figures)}`,
      );
    },
  },
  'streams sweep': {
    usage: '',
    meaning:
      'removes messages that a killed NATS server keeps when their work is done, requeues the others; removes lost payloads',
    async run(_, around) {
      await using streams = await openWorkStreams(operatorOf(around));
      const unclear: Ghost[] = [];
      return await withMesh(around, async (mesh) => {
        const swept = await streams.sweep(async (ghost) => {
          const verdict = await judgeGhost(mesh, ghost);
          if (verdict === 'unclear') unclear.push(ghost);
          return verdict;
        });
        const payloads = await streams.removeLostPayloads();
        const { workStream } = subjects(around.config.namespace);
        const json = { swept, unclear: unclear.map(({ bytes: _, ...ghost }) => ghost), payloads };
        return { lines: sweepReport({ swept, unclear, payloads }, workStream), json };
      });
    },
  },
};

/** The result of a sweep. */
interface Sweep {
  swept: readonly SweptQueue[];
  /** The ghosts that were left. */
  unclear: readonly Ghost[];
  /** The number of large payloads that were removed. */
  payloads: number;
}

/** Returns the lines that tell an operator what a sweep did, and what is left to do. */
export function sweepReport(
  { swept, unclear, payloads }: Sweep,
  streamOf: (kind: QueueKind) => string,
): string[] {
  const lines = swept.flatMap(({ kind, consumer, ...figures }) =>
    Object.values(figures).some((count) => count > 0) ? [`${kind}  ${consumer}  ${words(figures)}`] : [],
  );
  if (payloads > 0) lines.push(`large payloads  removed: ${payloads}`);
  if (lines.length === 0) return [`there is nothing to sweep; queues: ${swept.length}`];
  const left = unclear.map(
    ({ kind, subject, seq, ageMs }) =>
      `unclear  ${subject}  message ${seq} of ${streamOf(kind)}  stored ${Math.round(ageMs / 60_000)} min ago`,
  );
  return [...lines, ...left, ...(left.length > 0 ? adviceForUnclear : [])];
}

const adviceForUnclear = [
  'NATS keeps these messages and delivers none of them. Read one with: nats stream get <stream> <number>',
  'Is its answer in the log of its session? Then remove it with: nats stream rmm <stream> <number>',
  'Else publish its payload again with its headers and another Nats-Msg-Id, then remove it.',
];

/** Writes figures with their names: `ackPending: 3` as `ack pending: 3`. */
function words(figures: object): string {
  return Object.entries(figures)
    .map(([name, count]) => `${name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}: ${count}`)
    .join('  ');
}
