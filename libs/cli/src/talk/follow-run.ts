import { type ErrorCode, type Event, MeshError } from '@agentmesh/protocol';
import type { Surroundings } from '../command/command.ts';
import { CallWatch } from './call-watch.ts';
import { type Gateway, type GatewayMessage, type GatewaySession, lostConnection } from './gateway.ts';

/** The message of a person for an open session. */
export interface Said {
  session: GatewaySession;
  message: GatewayMessage;
  /** True to say on stderr what a silent run waits for; a terminal is always told. */
  isVerbose: boolean;
}

/**
 * Sends a message and yields the events of its run, streamed pieces too.
 *
 * @throws MeshError of the run; `cancelled` after Ctrl-C and `unavailable` after a lost connection, with the way
 * back to the run
 */
export async function* followRun(
  around: Surroundings,
  gateway: Gateway,
  { session, message, isVerbose }: Said,
): AsyncGenerator<Event, void, void> {
  let invocation: string | undefined;
  using watch = new CallWatch((line) => {
    if (isVerbose || around.isTerminal) around.remark(line);
  });
  try {
    for await (const event of gateway.run(session, message, (id) => (invocation = id))) {
      watch.note(event);
      yield event;
    }
  } catch (thrown) {
    if (around.signal.aborted) throw interrupted(session, { invocation, cause: thrown });
    const { code, message, details } = MeshError.from(thrown);
    if (details?.reason !== lostConnection) throw thrown;
    throw wayBack(session, { code, why: message, invocation, cause: thrown });
  }
}

interface Ended {
  invocation?: string | undefined;
  cause?: unknown;
}

/** Returns the error for a conversation that Ctrl-C has ended: it says how the person comes back. */
export function interrupted(session: GatewaySession, ended: Ended = {}): MeshError {
  return wayBack(session, { ...ended, code: 'cancelled', why: 'stopped by Ctrl-C' });
}

/** Returns the error for a conversation that ended too early, with the commands that lead back to it. */
function wayBack(
  { app, user, session }: GatewaySession,
  { code, why, invocation, cause }: Ended & { code: ErrorCode; why: string },
): MeshError {
  const ofUser = user === 'dev' ? '' : ` --user ${quoted(user)}`;
  const place = `${quoted(app)} --session ${quoted(session)}${ofUser}`;
  const ways = [
    ...(invocation === undefined
      ? []
      : [['see it', `invocations show ${invocation} --app ${quoted(app)}${ofUser}`]]),
    ...(invocation === undefined
      ? []
      : [['cancel it', ['cancel', app, user, session, invocation].map(quoted).join(' ')]]),
    ['talk on', `chat ${place}`],
  ];
  const what =
    invocation === undefined
      ? `${why}; the session is ${session}`
      : `${why}; run ${invocation} of session ${session} goes on`;
  const lines = ways.map(([meaning = '', words]) => `  ${`${meaning}:`.padEnd(11)}agentmesh ${words}`);
  return new MeshError(code, [what, ...lines].join('\n'), {
    cause,
    details: { app, user, session, ...(invocation !== undefined && { invocation }) },
  });
}

/** Returns a word of a shell's command line. */
function quoted(word: string): string {
  return /^[\w.:@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
