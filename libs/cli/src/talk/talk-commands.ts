import { openCards } from '@agentmesh/bus';
import { type Event, MeshError, nearest } from '@agentmesh/protocol';
import type { Commands, Surroundings } from '../command/command.ts';
import { Misuse } from '../command/program.ts';
import { operatorOf } from '../context/surroundings.ts';
import { textOf } from './describe-event.ts';
import { followRun, interrupted } from './follow-run.ts';
import { Gateway, type GatewayMessage, type GatewaySession, textMessage } from './gateway.ts';
import { sessionOption, userOf, userOption, verboseOption } from './options.ts';
import { answerTo, pendingOf, questionOf, type WaitingCall } from './pending.ts';
import { showRun } from './show-run.ts';

/** The commands that talk to agents, by their words. */
export const talkCommands: Commands = {
  ask: {
    usage: '<agent> <text...>',
    meaning: 'sends a message to an agent or an app, and prints the answer alone',
    options: [userOption, sessionOption, verboseOption],
    async run([name = '', ...words], around, options) {
      const gateway = new Gateway(around);
      const app = await appOf(gateway, around, name);
      const session = await gateway.openSession(app, userOf(options), options.text('session'));
      const events: Event[] = [];
      const said = { session, message: textMessage(words.join(' ')), isVerbose: options.flag('verbose') };
      for await (const event of followRun(around, gateway, said)) if (!event.partial) events.push(event);
      const last = events.at(-1);
      const text = last ? textOf(last) : '';
      const failure =
        last?.errorCode === undefined ? undefined : { code: last.errorCode, message: last.errorMessage };
      const waiting = await pendingOf(gateway, session);
      const questions = waiting.map(
        (call) => `waits: agentmesh pending answer ${call.id} …  ${call.kind}  ${questionOf(call)}`,
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
    options: [userOption, sessionOption, verboseOption],
    more: 'End it by Ctrl-D. With --json it prints each event as a line.',
    async run([name = ''], around, options) {
      const gateway = new Gateway(around);
      const app = await appOf(gateway, around, name);
      const session = await gateway.openSession(app, userOf(options), options.text('session'));
      around.print(`session ${session.session} of ${app}; Ctrl-D ends the conversation`);
      const talk = { around, gateway, session, isVerbose: options.flag('verbose') };
      await attempt(talk, () => answerQuestions(talk));
      for (let text = await prompt(talk, '> '); text !== undefined; text = await prompt(talk, '> '))
        await attempt(talk, () => say(talk, text ?? ''));
      return undefined;
    },
  },
};

interface Talk {
  around: Surroundings;
  gateway: Gateway;
  session: GatewaySession;
  isVerbose: boolean;
}

/** Asks the person. Returns undefined at the end of the input. @throws MeshError `cancelled` after Ctrl-C */
async function prompt({ around, session }: Talk, question: string): Promise<string | undefined> {
  const answer = await around.ask(question);
  if (answer === undefined && around.signal.aborted) throw interrupted(session);
  return answer;
}

/** Does a part of a conversation, which goes on after a failed run or an answer that cannot be used. */
async function attempt({ around }: Talk, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    if (around.signal.aborted) throw thrown;
    const { code, message } = MeshError.from(thrown);
    around.write({ text: `✗ ${code}: ${message}`, json: { error: { code, message } } });
  }
}

/** Sends a message, then asks the person the questions of the agents until none is left. */
async function say(talk: Talk, text: string): Promise<void> {
  if (text.trim() === '') return;
  const { around, gateway, session, isVerbose } = talk;
  await showRun(around, gateway, { session, message: textMessage(text), isVerbose });
  await answerQuestions(talk);
}

async function answerQuestions(talk: Talk): Promise<void> {
  const { around, gateway, session, isVerbose } = talk;
  const asked = new Set<string>();
  for (;;) {
    const calls = await pendingOf(gateway, session);
    const call = calls.find(({ id, kind }) => !asked.has(id) && kind !== 'result' && kind !== 'credential');
    if (!call) {
      for (const each of calls.filter(({ id }) => !asked.has(id)))
        around.print(`  waits for an outcome from elsewhere: ${each.id}  ${questionOf(each)}`);
      return;
    }
    asked.add(call.id);
    const message = await askPerson(talk, call);
    if (!message) return;
    await showRun(around, gateway, { session, message, isVerbose });
  }
}

/** Asks the person a question until the answer fits. Returns undefined at the end of the input. */
async function askPerson(talk: Talk, call: WaitingCall): Promise<GatewayMessage | undefined> {
  const ending = call.kind === 'confirmation' ? ' [yes/no] ' : ': ';
  for (;;) {
    const answer = await prompt(talk, `${questionOf(call)}${ending}`);
    if (answer === undefined) return undefined;
    try {
      return answerTo(call, answer);
    } catch (error) {
      if (!(error instanceof Misuse)) throw error;
      talk.around.remark(error.message);
    }
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
