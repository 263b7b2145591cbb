import { type DeadLetters, openDeadLetters, type StoredDeadLetter } from '@agentmesh/bus';
import {
  type ConnectedMesh,
  cancelInvocation,
  connectService,
  deleteUserData,
  replayDeadLetter,
} from '@agentmesh/mesh';
import { MeshError } from '@agentmesh/protocol';
import type { Logger, ServiceConfig } from '@agentmesh/service';
import { writeExport } from './write-export.ts';

/** What a command needs: where the mesh is, and where to write. */
export interface Surroundings {
  config: ServiceConfig;
  log: Logger;
  print(line: string): void;
}

interface Command {
  usage: string;
  meaning: string;
  run(args: string[], surroundings: Surroundings): Promise<void>;
}

/** Every command by its words. */
export const commands: Record<string, Command> = {
  'dead-letters list': {
    usage: '[after-seq]',
    meaning: 'runs that could not be worked on, oldest first, 50 at most',
    run: ([after = '0'], around) =>
      withLetters(around, async (letters) => {
        const found = await letters.list({ afterSeq: wholeNumber(after) });
        for (const stored of found) around.print(summaryOf(stored));
        if (found.length === 0) around.print('there are none');
      }),
  },
  'dead-letters show': {
    usage: '<seq>',
    meaning: 'all of one of them, as JSON',
    run: ([seq], around) =>
      withLetters(around, async (letters) =>
        around.print(JSON.stringify(await letters.get(wholeNumber(seq)), null, 2)),
      ),
  },
  'dead-letters replay': {
    usage: '<seq>',
    meaning: 'runs it again as a new invocation, and takes it away',
    run: ([seq], around) =>
      withLetters(around, async (letters) => {
        const stored = await letters.get(wholeNumber(seq));
        await withMesh(around, async (mesh) => {
          const { invocationId, agent } = await replayDeadLetter(mesh, stored.letter);
          await letters.remove(stored.seq);
          around.print(`invocation ${invocationId} of agent ${agent} has begun`);
        });
      }),
  },
  'dead-letters remove': {
    usage: '<seq>',
    meaning: 'takes it away',
    run: ([seq], around) =>
      withLetters(around, async (letters) => {
        await letters.remove(wholeNumber(seq));
        around.print(`dead letter ${seq} is gone`);
      }),
  },
  cancel: {
    usage: '<app> <user> <session> <invocation>',
    meaning: 'ends an invocation in all processes that work on it',
    run: ([appName, userId, sessionId, invocationId], around) =>
      withMesh(around, async (mesh) => {
        if (!appName || !userId || !sessionId || !invocationId)
          throw new MeshError('invalid_argument', usage());
        const ref = { appName, userId, sessionId, invocationId };
        const { status } = await cancelInvocation(mesh, ref, 'an operator cancelled it');
        around.print(status === 'running' ? 'told all who work on it' : `it has ended: ${status}`);
      }),
  },
  'user export': {
    usage: '<app> <user> <folder>',
    meaning: 'writes all that is kept of a user into a new folder; see docs/privacy.md',
    async run([appName, userId, folder], around) {
      if (!appName || !userId || !folder) throw new MeshError('invalid_argument', usage());
      await withMesh(around, async (mesh) =>
        around.print(JSON.stringify(await writeExport(mesh, { appName, userId }, folder))),
      );
    },
  },
  'user delete': {
    usage: '<app> <user> --yes',
    meaning: 'deletes all that is kept of a user, for good, and says how much it was',
    async run(args, around) {
      const [appName, userId, more] = args.filter((each) => each !== '--yes');
      if (!appName || !userId || more !== undefined) throw new MeshError('invalid_argument', usage());
      if (!args.includes('--yes')) {
        const why = `this deletes all that is kept of user ${userId} in app ${appName}; say --yes if you mean it`;
        throw new MeshError('invalid_argument', why);
      }
      await withMesh(around, async (mesh) =>
        around.print(JSON.stringify(await deleteUserData(mesh, { appName, userId }))),
      );
    },
  },
};

/** Finds the command that the words begin with. @throws MeshError `invalid_argument` with the usage */
export async function runCommand(words: readonly string[], surroundings: Surroundings): Promise<void> {
  for (const [name, command] of Object.entries(commands)) {
    const own = name.split(' ');
    if (own.every((word, at) => words[at] === word))
      return await command.run(words.slice(own.length), surroundings);
  }
  throw new MeshError('invalid_argument', usage());
}

export function usage(): string {
  const lines = Object.entries(commands).map(([name, each]) => `  ${name} ${each.usage}: ${each.meaning}`);
  return `usage: agentmesh <command>\n${lines.join('\n')}`;
}

function wholeNumber(text = ''): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new MeshError(
    'invalid_argument',
    `${JSON.stringify(text)} is no number of a dead letter\n${usage()}`,
  );
}

function summaryOf({ seq, letter }: StoredDeadLetter): string {
  const { subject, attempts, error, time } = letter;
  return `${seq}  ${new Date(time).toISOString()}  ${subject}  ${attempts} deliveries  ${error.code}: ${error.message}`;
}

async function withLetters(
  { config }: Surroundings,
  work: (letters: DeadLetters) => Promise<void>,
): Promise<void> {
  await using letters = await openDeadLetters({
    url: config.natsUrl,
    user: config.natsUser,
    pass: config.natsPassword?.reveal(),
    namespace: config.namespace,
  });
  await work(letters);
}

async function withMesh(
  { config, log }: Surroundings,
  work: (mesh: ConnectedMesh) => Promise<void>,
): Promise<void> {
  await using mesh = await connectService('operator', config, log);
  await work(mesh);
}
