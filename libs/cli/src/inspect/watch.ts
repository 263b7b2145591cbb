import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { connectNats } from '@agentmesh/bus';
import { natsTlsOf } from '@agentmesh/mesh';
import {
  type Event,
  eventSchema,
  every,
  everySession,
  MeshError,
  readEventSubject,
  subjects,
} from '@agentmesh/protocol';
import type { Command, Surroundings } from '../command/command.ts';
import { connectTimeoutMs } from '../context/surroundings.ts';
import { actsOf, textOf } from '../talk/describe-event.ts';

/** The command that prints events as they happen. */
export const watchCommand: Command = {
  usage: '[app]',
  meaning: 'prints the committed events of all sessions as they happen, until Ctrl-C; default: of all apps',
  options: [
    { flags: '--user <id>', meaning: 'the events of this user alone' },
    { flags: '--session <id>', meaning: 'the events of this session alone' },
  ],
  more: 'In a mesh with NATS accounts only the user client hears sessions.',
  async run([app], around, options) {
    const wanted = [app, options.text('user'), options.text('session')];
    await using bus = await connect(around);
    const { sessionEvent } = subjects(around.config.namespace);
    await bus.subscribe(
      sessionEvent(everySession, every, every),
      (message) => {
        const place = placeOf(message.subject);
        if (!wanted.every((each, at) => each === undefined || each === place[at])) return;
        const { data: event } = eventSchema.safeParse(message.json());
        if (event) show(around, place, event);
      },
      {
        onGap: () => around.print('some events may be missing here: the connection was lost for a time'),
      },
    );
    around.print('watching; Ctrl-C ends it');
    await new Promise<void>((resolve) => {
      if (around.signal.aborted) resolve();
      around.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    return undefined;
  },
};

async function connect({ config }: Surroundings) {
  const credsFile = credsOfClient(config.natsCreds);
  if (config.natsUser === 'provision') throw hearsNothing('set MESH_NATS_USER and MESH_NATS_PASSWORD');
  return await connectNats({
    ...{ url: config.natsUrl, service: 'client', connectTimeoutMs, cards: false },
    ...{ tls: natsTlsOf(config), credsFile, namespace: config.namespace },
    ...(config.natsUser !== undefined && { user: config.natsUser }),
    ...(config.natsPassword && { pass: config.natsPassword.reveal() }),
  });
}

/** Returns the credentials of the user client in the place of those of the operator, who hears no sessions. */
function credsOfClient(file: string | undefined): string | undefined {
  if (file === undefined || basename(file) !== 'provision.creds') return file;
  const other = join(dirname(file), 'client.creds');
  if (existsSync(other)) return other;
  throw hearsNothing('set MESH_NATS_CREDS');
}

function hearsNothing(advice: string): MeshError {
  return new MeshError(
    'failed_precondition',
    `the NATS user provision hears no sessions; log in as the user client: ${advice}, or name its --context`,
  );
}

/** Returns the app, the user and the session of a subject of events. */
function placeOf(subject: string): string[] {
  const { appName, userId, sessionId } = readEventSubject(subject);
  return [appName, userId, sessionId];
}

function show(around: Surroundings, [app = '', user = '', session = '']: string[], event: Event): void {
  const text = textOf(event);
  const acts = [...(text === '' ? [] : [JSON.stringify(text)]), ...actsOf(event)];
  const time = new Date(event.timestamp).toISOString();
  around.write({
    text: [time, app, user, session, event.author, ...acts].join('  '),
    json: { app, user, session, event },
  });
}
