import { MeshError } from '@agentmesh/protocol';
import { z } from 'zod';
import { type Commands, listReport, type Surroundings } from '../command/command.ts';
import { Misuse } from '../command/program.ts';
import { Gateway, type GatewayMessage, type GatewaySession, sessionPath, sessionsPath } from './gateway.ts';
import { userOf, userOption } from './options.ts';
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

/** Describes the question of a call in one line. */
export function questionOf({ kind, name, args }: WaitingCall): string {
  const {
    originalFunctionCall: call,
    toolConfirmation: confirmation,
    prompt,
    message,
  } = args as {
    originalFunctionCall?: { name?: string; args?: unknown };
    toolConfirmation?: { hint?: string };
    prompt?: string;
    message?: string;
  };
  const hint = confirmation?.hint || prompt || message || '';
  const what = call ? `${call.name}(${JSON.stringify(call.args ?? {})})` : `${name}(${JSON.stringify(args)})`;
  return [kind, what, hint].filter(Boolean).join('  ');
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

/** The commands for calls that wait for an answer, by their words. */
export const pendingCommands: Commands = {
  'pending list': {
    usage: '[app]',
    meaning:
      'lists the calls of a user that wait for an answer: confirmations, questions, results; default: in all apps',
    options: [userOption],
    async run([app], around, options) {
      const calls = await allPending(around, app, userOf(options));
      return listReport(calls, (call) => {
        const since = new Date(call.created).toISOString();
        return `${call.id}  ${since}  ${call.app}  ${call.sessionId}  ${call.agent}  ${questionOf(call)}`;
      });
    },
  },
  'pending answer': {
    usage: '<call> <answer>',
    meaning: 'answers such a call: yes or no for a confirmation, else a JSON object; prints what follows',
    options: [userOption],
    async run([id, answer = ''], around, options) {
      const call = (await allPending(around, undefined, userOf(options))).find((each) => each.id === id);
      if (!call) throw new MeshError('not_found', `no call ${id} waits for an answer; see pending list`);
      const message = answerTo(call, answer);
      const gateway = new Gateway(around.gatewayUrl, around.signal);
      await showRun(around, gateway, { app: call.app, user: call.user, session: call.sessionId }, message);
      return undefined;
    },
  },
};

async function allPending(
  around: Surroundings,
  app: string | undefined,
  user: string,
): Promise<WaitingCall[]> {
  const gateway = new Gateway(around.gatewayUrl, around.signal);
  const apps = app === undefined ? await gateway.apps() : [app];
  const lists = await Promise.all(
    apps.map((each) => gateway.call(listSchema, sessionsPath(each, user).replace(/sessions$/, 'pending'))),
  );
  return lists.flatMap(({ pending }) => pending).sort((a, b) => a.created - b.created);
}
