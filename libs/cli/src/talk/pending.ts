import { redisPrefixOf } from '@agentmesh/mesh';
import { MeshError } from '@agentmesh/protocol';
import { listWaitingUsers } from '@agentmesh/store';
import { z } from 'zod';
import { type CommandOption, type Commands, listReport, type Surroundings } from '../command/command.ts';
import { Misuse } from '../command/program.ts';
import { connectTimeoutMs } from '../context/surroundings.ts';
import { Gateway, type GatewayMessage, type GatewaySession, sessionPath, sessionsPath } from './gateway.ts';
import { userOf, userOption, verboseOption } from './options.ts';
import { questionWords, short } from './question-words.ts';
import { showRun } from './show-run.ts';

const callSchema = z.looseObject({
  id: z.string(),
  name: z.string(),
  args: z.record(z.string(), z.unknown()),
  kind: z.enum(['confirmation', 'credential', 'input', 'result']),
  app: z.string(),
  user: z.string(),
  sessionId: z.string(),
  invocationId: z.string(),
  agent: z.string(),
  created: z.number(),
  deadline: z.number().optional(),
});

/** A call that waits for an answer from outside. */
export type WaitingCall = z.infer<typeof callSchema>;

const listSchema = z.object({ pending: z.array(callSchema) });

/** Returns the calls of a session that wait for an answer. */
export async function pendingOf(gateway: Gateway, session: GatewaySession): Promise<WaitingCall[]> {
  return (await gateway.call(listSchema, `${sessionPath(session)}/pending`)).pending;
}

/** Returns the question of a call in one line. */
export function questionOf(call: WaitingCall): string {
  return questionWords(call) ?? `${call.name}(${short(call.args)}) has no outcome yet`;
}

/**
 * Returns the answer to a call: `yes` and `no` for a confirmation, JSON for all others.
 *
 * @throws Misuse for an answer that fits no call of this kind
 */
export function answerTo({ id, name, kind }: WaitingCall, text: string): GatewayMessage {
  return {
    role: 'user',
    parts: [{ functionResponse: { id, name, response: responseOf(kind, text.trim()) } }],
  };
}

function responseOf(kind: WaitingCall['kind'], text: string): Record<string, unknown> {
  if (kind === 'confirmation') {
    if (/^(y|yes)$/i.test(text)) return { confirmed: true };
    if (/^(n|no)$/i.test(text)) return { confirmed: false };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    if (kind === 'input') return { result: text };
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  const wanted =
    kind === 'confirmation' ? 'yes, no, or a JSON object such as {"confirmed": true}' : 'a JSON object';
  throw new Misuse(`the answer to a ${kind} is ${wanted}; it is ${JSON.stringify(text)}`);
}

const allOption: CommandOption = {
  flags: '--all',
  meaning: 'the calls of all users instead, who are looked for among all keys of Redis; for operators',
};

/** The commands for calls that wait for an answer, by their words. */
export const pendingCommands: Commands = {
  'pending list': {
    usage: '[app]',
    meaning:
      'lists the calls of a user that wait for an answer: confirmations, questions, results; default: in all apps',
    options: [userOption, allOption],
    async run([app], around, options) {
      const isOfAll = options.flag('all');
      const calls = isOfAll
        ? await pendingOfAll(around, app)
        : await pendingOfUser(around, app, userOf(options));
      return listReport(calls, (call) => {
        const since = new Date(call.created).toISOString();
        const place = [call.app, ...(isOfAll ? [`user ${call.user}`] : []), call.sessionId];
        return [call.id, since, ...place, call.agent, call.kind, questionOf(call)].join('  ');
      });
    },
  },
  'pending answer': {
    usage: '<call> <answer>',
    meaning: 'answers such a call: yes or no for a confirmation, else a JSON object; prints what follows',
    options: [userOption, verboseOption],
    async run([id, answer = ''], around, options) {
      const call = (await pendingOfUser(around, undefined, userOf(options))).find((each) => each.id === id);
      if (!call)
        throw new MeshError(
          'not_found',
          `no call ${id} of user ${userOf(options)} waits for an answer; see pending list --all`,
        );
      const message = answerTo(call, answer);
      const gateway = new Gateway(around);
      const session = { app: call.app, user: call.user, session: call.sessionId };
      await showRun(around, gateway, { session, message, isVerbose: options.flag('verbose') });
      return undefined;
    },
  },
};

async function pendingOfUser(
  around: Surroundings,
  app: string | undefined,
  user: string,
): Promise<WaitingCall[]> {
  const gateway = new Gateway(around);
  const apps = app === undefined ? await gateway.apps() : [app];
  const lists = await Promise.all(apps.map((each) => pendingAt(gateway, { app: each, user })));
  return inOrder(lists.flat());
}

/** The number of users whose calls are asked for at once. */
const atOnce = 16;

/** Returns the calls of all users, who are found in Redis. */
async function pendingOfAll(around: Surroundings, app: string | undefined): Promise<WaitingCall[]> {
  const { redisUrl, redisCaFile, redisPrefix, namespace } = around.config;
  const users = await listWaitingUsers({
    url: redisUrl.reveal(),
    caFile: redisCaFile,
    timeoutMs: connectTimeoutMs,
    prefix: redisPrefix ?? redisPrefixOf(namespace),
  });
  const gateway = new Gateway(around);
  const chosen = users.filter((each) => app === undefined || each.app === app);
  const calls: WaitingCall[][] = [];
  for (let at = 0; at < chosen.length; at += atOnce)
    calls.push(...(await Promise.all(chosen.slice(at, at + atOnce).map((user) => pendingAt(gateway, user)))));
  return inOrder(calls.flat());
}

async function pendingAt(
  gateway: Gateway,
  { app, user }: { app: string; user: string },
): Promise<WaitingCall[]> {
  const path = sessionsPath(app, user).replace(/sessions$/, 'pending');
  return (await gateway.call(listSchema, path)).pending;
}

function inOrder(calls: WaitingCall[]): WaitingCall[] {
  return calls.sort((a, b) => a.created - b.created);
}
