import { statusOfRecord } from '@agentmesh/agent/internal';
import { openCards, openOrphans, type StoredDeadLetter } from '@agentmesh/bus';
import { cancelInvocation, deleteUserData, endOrphan, replayDeadLetter } from '@agentmesh/mesh';
import { MeshError } from '@agentmesh/protocol';
import { type Commands, listReport } from '../command/command.ts';
import { Misuse } from '../command/program.ts';
import { operatorOf, withLetters, withMesh } from '../context/surroundings.ts';
import { writeExport } from './write-export.ts';

/** The commands for dead letters, orphans, cards, invocations and users, by their words. */
export const operatorCommands: Commands = {
  'dead-letters list': {
    usage: '[after-seq]',
    meaning: 'lists runs and jobs that no service could finish, oldest first, 50 at most',
    run: ([after = '0'], around) =>
      withLetters(around, async (letters) => {
        return listReport(await letters.list({ afterSeq: wholeNumber(after) }), summaryOf);
      }),
  },
  'dead-letters show': {
    usage: '<seq>',
    meaning: 'prints a dead letter as JSON',
    run: ([seq], around) =>
      withLetters(around, async (letters) => {
        const letter = await letters.get(wholeNumber(seq));
        return { lines: [JSON.stringify(letter, null, 2)], json: letter };
      }),
  },
  'dead-letters replay': {
    usage: '<seq>',
    meaning: 'runs a dead letter again as a new invocation, and removes it',
    run: ([seq], around) =>
      withLetters(around, async (letters) => {
        const stored = await letters.get(wholeNumber(seq));
        return await withMesh(around, async (mesh) => {
          const { invocationId, agent } = await replayDeadLetter(mesh, stored);
          await letters.remove(stored.seq);
          const lines = [`invocation ${invocationId} of agent ${agent} has begun`];
          return { lines, json: { invocationId, agent } };
        });
      }),
  },
  'dead-letters remove': {
    usage: '<seq>',
    meaning: 'removes a dead letter',
    run: ([seq], around) =>
      withLetters(around, async (letters) => {
        await letters.remove(wholeNumber(seq));
        return { lines: [`dead letter ${seq} is gone`], json: { removed: wholeNumber(seq) } };
      }),
  },
  'orphans list': {
    usage: '',
    meaning: 'lists subjects whose messages no service takes, such as runs for an agent that has left',
    async run(_, around) {
      await using queues = await openOrphans(operatorOf(around));
      return listReport(
        await queues.list(),
        ({ kind, subject, count }) => `${subject}  ${kind}  messages: ${count}`,
      );
    },
  },
  'orphans bury': {
    usage: '<subject>',
    meaning: 'moves the messages of such a subject to the dead letters, and ends their runs',
    async run([subject = ''], around) {
      await using queues = await openOrphans(operatorOf(around));
      return await withMesh(around, async (mesh) => {
        let ended = 0;
        const count = await queues.bury(subject, async ({ kind, ...stored }) => {
          if (kind === 'run' && (await endOrphan(mesh, stored))) ended += 1;
        });
        if (count === 0) throw new MeshError('not_found', `there are no orphans under ${subject}`);
        const lines = [`${count} moved to the dead letters, ${ended} of them runs that have ended now`];
        return { lines, json: { moved: count, ended } };
      });
    },
  },
  'cards list': {
    usage: '',
    meaning: 'lists the agents and tools that the mesh knows, and whether a replica of each is up',
    async run(_, around) {
      await using cards = await openCards(operatorOf(around));
      const stored = await cards.list();
      const rows = await Promise.all(
        stored.map(async (card) => ({ ...card, isUp: await cards.isServed(card.name) })),
      );
      return listReport(rows, (card) => {
        const app = card.kind === 'agent' && card.app !== undefined ? `  app ${card.app}` : '';
        return `${card.kind}  ${card.name}  ${card.version}${app}  ${card.isUp ? 'up' : 'no replica'}`;
      });
    },
  },
  'cards remove': {
    usage: '<agent|tool> <name>',
    meaning: 'forgets a service that is gone for good, and its app',
    async run([kind, name = ''], around) {
      if (kind !== 'agent' && kind !== 'tool')
        throw new Misuse(`name the kind, agent or tool, before the service; it is ${JSON.stringify(kind)}`);
      await using cards = await openCards(operatorOf(around));
      await cards.remove(kind, name);
      return { lines: [`the card of ${kind} ${name} is gone`], json: { kind, name } };
    },
  },
  cancel: {
    usage: '<app> <user> <session> <invocation>',
    meaning: 'cancels an invocation in all processes that work on it',
    run: ([appName = '', userId = '', sessionId = '', invocationId = ''], around) =>
      withMesh(around, async (mesh) => {
        const ref = { appName, userId, sessionId, invocationId };
        const status = statusOfRecord(await cancelInvocation(mesh, ref, 'an operator cancelled it'));
        const line = status === 'running' ? 'told all who work on it' : `it has ended: ${status}`;
        return { lines: [line], json: { invocationId, status } };
      }),
  },
  'user export': {
    usage: '<app> <user> <folder>',
    meaning: 'writes all data of a user into a new folder (docs/privacy.md)',
    run: ([appName = '', userId = '', folder = ''], around) =>
      withMesh(around, async (mesh) => jsonReport(await writeExport(mesh, { appName, userId }, folder))),
  },
  'user delete': {
    usage: '<app> <user>',
    meaning: 'deletes all data of a user for good, and prints how much it was',
    options: [{ flags: '--yes', meaning: 'deletes; without it the command refuses' }],
    async run([appName = '', userId = ''], around, options) {
      if (!options.flag('yes')) {
        const why = `this deletes all that is kept of user ${userId} in app ${appName}; say --yes if you mean it`;
        throw new MeshError('invalid_argument', why);
      }
      return await withMesh(around, async (mesh) =>
        jsonReport(await deleteUserData(mesh, { appName, userId })),
      );
    },
  },
};

function jsonReport(value: unknown) {
  return { lines: [JSON.stringify(value)], json: value };
}

/** Reads the number of a dead letter. @throws Misuse */
function wholeNumber(text = ''): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new Misuse(`${JSON.stringify(text)} is no number of a dead letter`);
}

function summaryOf({ seq, writer, isForeign, letter }: StoredDeadLetter): string {
  const { subject, attempts, error, time } = letter;
  const by = `by ${writer.kind} ${writer.name}${isForeign ? ' (not of its queue: perhaps forged)' : ''}`;
  return `${seq}  ${new Date(time).toISOString()}  ${subject}  ${by}  ${attempts} deliveries  ${error.code}: ${error.message}`;
}
