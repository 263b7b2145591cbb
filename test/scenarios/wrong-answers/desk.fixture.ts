import { App, getFunctionCalls, type PendingCall } from '@agentmesh/agent';
import { launchMesh } from '@agentmesh/deploy/launch';
import { agentManifest } from '@agentmesh/mesh';
import type { Event } from '@agentmesh/protocol';
import {
  latestFunctionResponses,
  latestUserText,
  type ModelScript,
  startScriptedGemini,
} from '@agentmesh/testing';
import { restClient } from '../../rest-client.ts';
import { clerk } from './clerk/src/agent.ts';
import { crowd } from './crowd/src/agent.ts';

const here = 'test/scenarios/wrong-answers';

/** A model that calls the tool that the user names, if there is one. */
const script: ModelScript = (request) => {
  if (latestFunctionResponses(request).length > 0) return { text: 'done' };
  const wanted = latestUserText(request).split(' ');
  const calls = request.tools.flatMap(({ name }) =>
    wanted.includes(name ?? '') ? [{ name: name ?? '', args: name === 'time_off' ? { days: 5 } : {} }] : [],
  );
  return calls.length > 0 ? { calls } : { text: 'nothing to do' };
};

type Rest = ReturnType<typeof restClient>;
export type Json = Record<string, unknown>;

/** A question of a session, with the app and the session. */
export interface Asked {
  app: string;
  session: string;
  invocationId: string;
  /** The calls in its events, in order; the last one is the question. */
  calls: { id: string; name: string; args: Json }[];
  question: { id: string; name: string; args: Json };
}

/** Starts two agents in their own processes and a gateway, for clients that give answers. */
export async function startDesk() {
  await using owners = new AsyncDisposableStack();
  const model = owners.adopt(await startScriptedGemini({ script }), (server) => server.close());
  const mesh = owners.use(
    await launchMesh({
      services: [
        {
          manifest: agentManifest(new App({ name: 'clerk_app', rootAgent: clerk })),
          folder: `${here}/clerk`,
        },
        {
          manifest: agentManifest(new App({ name: 'crowd_app', rootAgent: crowd })),
          folder: `${here}/crowd`,
        },
      ],
      env: { GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_API_KEY: 'scripted' },
    }),
  );
  const rest = restClient(mesh.gatewayUrl);
  const all = owners.move();
  return {
    rest,
    ask: (text: string, app = 'clerk_app', session?: string) => ask(rest, { text, app, session }),
    picture: (asked: Asked) => picture(rest, asked),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function ask(
  rest: Rest,
  { text, app, session }: { text: string; app: string; session: string | undefined },
): Promise<Asked> {
  const id = session ?? (await rest.createSession(app));
  const events = await rest.events(app, id, text);
  return askedIn(app, id, events);
}

export function askedIn(app: string, session: string, events: readonly Event[]): Asked {
  const calls = events
    .flatMap(getFunctionCalls)
    .map(({ id = '', name = '', args = {} }) => ({ id, name, args }));
  const question = calls.at(-1);
  if (!question) throw new Error(`nothing was asked: ${JSON.stringify(events)}`);
  return { app, session, invocationId: events[0]?.invocationId ?? '', calls, question };
}

/**
 * Reads all data that an answer could change: events, state and pending calls, in all sessions of the user.
 */
async function picture(rest: Rest, { app, session }: Asked) {
  const of = `/apps/${app}/users/u1`;
  const read = async (path: string) => (await (await rest.send('GET', `${of}${path}`)).json()) as unknown;
  const { pending } = (await read('/pending')) as { pending: PendingCall[] };
  const { lastUpdateTime: _time, ...stored } = (await read(`/sessions/${session}`)) as Json;
  return { stored, pending: pending.filter(({ sessionId }) => sessionId === session) };
}

/** Makes the body of an answer to a question. The arguments replace the right values. */
export function answerTo({ app, session, question }: Asked, part: Json = {}, body: Json = {}): Json {
  const { id, name } = question;
  const functionResponse = { id, name, response: yes, ...part };
  return {
    app_name: app,
    user_id: 'u1',
    session_id: session,
    new_message: { role: 'user', parts: [{ function_response: functionResponse }] },
    state_delta: { stolen: true },
    ...body,
  };
}

export const yes = { confirmed: true, payload: { approved_days: 3 } };
