import { openWorkStreams } from '@agentmesh/bus';
import { judgeGhost } from '@agentmesh/mesh';
import { type Command, operatorOf, withMesh } from './surroundings.ts';

/** The commands for the work queues, by their words. */
export const streamCommands: Record<string, Command> = {
  'streams list': {
    usage: '',
    meaning: 'lists the work queues: messages kept, waiting, without acknowledgement, and ghosts',
    async run(_, around) {
      await using streams = await openWorkStreams(operatorOf(around));
      for (const { kind, consumer, ...figures } of await streams.list())
        around.print(`${kind}  ${consumer}  ${words(figures)}`);
    },
  },
  'streams sweep': {
    usage: '',
    meaning:
      'removes messages that a killed NATS server keeps when their work is done, requeues the others; removes lost payloads',
    async run(_, around) {
      await using streams = await openWorkStreams(operatorOf(around));
      await withMesh(around, async (mesh) => {
        for (const { kind, consumer, ...figures } of await streams.sweep((ghost) => judgeGhost(mesh, ghost)))
          around.print(`${kind}  ${consumer}  ${words(figures)}`);
      });
      around.print(`large payloads  removed: ${await streams.removeLostPayloads()}`);
    },
  },
};

/** Writes figures with their names: `ackPending: 3` as `ack pending: 3`. */
function words(figures: object): string {
  return Object.entries(figures)
    .map(([name, count]) => `${name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}: ${count}`)
    .join('  ');
}
