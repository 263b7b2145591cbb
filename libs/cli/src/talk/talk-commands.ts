import { openCards } from '@agentmesh/bus';
import { type Event, MeshError, nearest } from '@agentmesh/protocol';
import type { Commands, Surroundings } from '../command/command.ts';
import { operatorOf } from '../context/surroundings.ts';
import { textOf } from './describe-event.ts';
import { Gateway, type GatewaySession, textMessage } from './gateway.ts';
import { sessionOption, userOf, userOption } from './options.ts';
import { answerTo, pendingOf, questionOf } from './pending.ts';
import { showRun } from './show-run.ts';

/** The commands that talk to agents, by their words. */
export const talkCommands: Commands = {
  ask: {
    usage: '<agent> <text...>',
    meaning: 'sends a message to an agent or an app, and prints the answer alone',
    options: [userOption, sessionOption],
    async run([name = '', ...words], around, options) {
      const gateway = new Gateway(around);
      const app = await appOf(gateway, around, name);
      const session = await gateway.openSession(app, userOf(options), options.text('session'));
      const events: Event[] = [];
      for await (const event of gateway.run(session, textMessage(words.join(' '))))
        if (!event.partial) events.push(event);
      const last = events.at(-1);
      const text = last ? textOf(last) : '';
      const failure =
        last?.errorCode === undefined ? undefined : { code: last.errorCode, message: last.errorMessage };
      const waiting = await pendingOf(gateway, session);
      const questions = waiting.map(
        (call) => `waits: agentmesh pending answer ${call.id} …  ${questionOf(call)}`,
      );
      const invocation = last?.invocationId;
      const problem = failure ? [`✗ ${failure.code}: ${failure.message ?? ''}`] : [];
      return {
        failed: failure !== undefined,
        lines: [...(text === '' ? [] : [text]), ...problem, ...questions],
        json: {
          ...session,
          ...(invocation !== undefined && { invocation }),
          text,
          pending: waiting,
          ...(failure && { error: failure }),
        },
      };
    },
  },
  chat: {
    usage: '<app>',
    meaning: 'talks to an app: streams answers, shows calls of tools, and asks you what agents ask',
    options: [userOption, sessionOption],
    more: 'End it by Ctrl-D. With --json it prints each event as a line.',
    async run([name = ''], around, options) {
      const gateway = new Gateway(around);
      const app = await appOf(gateway, around, name);
      const session = await gateway.openSession(app, userOf(options), options.text('session'));
      around.print(`session ${session.session} of ${app}; Ctrl-D ends the conversation`);
      for (let text = await around.ask('> '); text !== undefined; text = await around.ask('> '))
        if (text.trim() !== '') await say(around, gateway, session, text);
      return undefined;
    },
  },
};

/** Sends a message, then asks the person the questions of the agents until none is left. */
async function say(
  around: Surroundings,
  gateway: Gateway,
  session: GatewaySession,
  text: string,
): Promise<void> {
  try {
    await showRun(around, gateway, session, textMessage(text));
    const asked = new Set<string>();
    for (;;) {
      const calls = await pendingOf(gateway, session);
      const call = calls.find(({ id, kind }) => !asked.has(id) && kind !== 'result' && kind !== 'credential');
      if (!call) {
        for (const { id } of calls.filter((each) => !asked.has(each.id)))
          around.print(`  waits for an outcome from elsewhere: ${id}`);
        return;
      }
      asked.add(call.id);
      const answer = await around.ask(
        `${questionOf(call)} ${call.kind === 'confirmation' ? '[yes/no] ' : ': '}`,
      );
      if (answer === undefined) return;
      await showRun(around, gateway, session, answerTo({ ...call }, answer));
    }
  } catch (thrown) {
    if (around.signal.aborted) throw thrown;
    // The conversation goes on after a failed run or an answer that cannot be used.
    const { code, message } = MeshError.from(thrown);
    around.write({ text: `✗ ${code}: ${message}`, json: { error: { code, message } } });
  }
}

/** Returns the app of a name: the name of the app itself, or of the agent that is its root. */
async function appOf(gateway: Gateway, around: Surroundings, name: string): Promise<string> {
  const apps = await gateway.apps();
  if (apps.includes(name)) return name;
  const app = await appOfAgent(around, name);
  if (app !== undefined) return app;
  const meant = nearest(name, apps);
  const known = apps.length === 0 ? 'the mesh has no apps' : `the apps are ${apps.join(', ')}`;
  throw new MeshError(
    'not_found',
    `no app and no root agent of an app is ${name}; ${meant ? `did you mean ${meant}?` : known}`,
  );
}

async function appOfAgent(around: Surroundings, name: string): Promise<string | undefined> {
  try {
    await using cards = await openCards(operatorOf(around));
    const card = (await cards.list()).find((each) => each.kind === 'agent' && each.name === name);
    return card?.kind === 'agent' ? card.app : undefined;
  } catch (error) {
    around.log.debug({ err: error }, 'the cards cannot be read');
    return undefined;
  }
}
