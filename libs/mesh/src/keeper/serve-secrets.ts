import type { IncomingRequest, Started } from '@agentmesh/bus';
import {
  every,
  type Frame,
  MeshError,
  parse,
  type ReceiverKeys,
  readSecretSubject,
  rightFor,
  type SecretAnswer,
  type SecretRequest,
  type SecretUse,
  sealMessage,
  secretRequestSchema,
} from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';
import { serviceName } from '../mesh/service-name.ts';
import { hasWork } from './has-work.ts';
import { sealedForOtherKey } from './keeper-box.ts';
import type { UserSecrets } from './user-secrets.ts';

/** Number of requests for secrets that a keeper answers at once. */
const maxConcurrency = 64;

interface Keeper {
  mesh: Pick<Mesh, 'sessions' | 'log'>;
  secrets: UserSecrets;
}

type Using = Extract<SecretRequest, { use: SecretUse }>;

/**
 * Opens and seals secrets for the other services, each for the work that it has in hand. The last tokens of the
 * subject name the service and one of its rights; the links of the accounts give a service only those of its
 * definition. Without `secrets` each request gets the error that tells what the keeper lacks.
 */
export async function serveSecrets(mesh: Mesh, secrets: () => UserSecrets): Promise<Started> {
  const answer = (message: IncomingRequest) => handle({ mesh, secrets: secrets() }, message);
  return await mesh.bus.serve(mesh.subjects.secret(every, every), answer, { maxConcurrency });
}

async function* handle(keeper: Keeper, message: IncomingRequest): AsyncGenerator<Frame, void, void> {
  const { service, right } = readSecretSubject(message.subject);
  const request = parse(secretRequestSchema, message.json(), `the request of ${service} for credentials`);
  try {
    yield { type: 'result', data: await answerTo(keeper, request, { service, right }) };
  } catch (error) {
    const failure = MeshError.from(error);
    if (failure.code !== 'permission_denied')
      keeper.mesh.log.warn({ err: failure, service, verb: request.do }, 'could not answer for credentials');
    throw failure;
  }
}

async function answerTo(
  keeper: Keeper,
  request: SecretRequest,
  { service, right }: { service: string; right: string },
): Promise<SecretAnswer<SecretRequest['do']>> {
  const { secrets } = keeper;
  if (request.do === 'key') return { key: (await secrets.receiverKeys()).publicKey };
  await assertMay(keeper, service, request, right);
  if (request.do === 'open') {
    const text = await secrets.open(request.sealed, request.use, service);
    return { message: await sealMessage(text, request.to) };
  }
  const text = await textOf(await secrets.receiverKeys(), request.message);
  return { sealed: await secrets.seal(text, request.use, service) };
}

async function textOf(keys: ReceiverKeys, message: string): Promise<string> {
  try {
    return await keys.open(message);
  } catch (error) {
    throw sealedForOtherKey(error);
  }
}

/** @throws MeshError `permission_denied` for a use that the service's definition or its work does not allow */
async function assertMay(
  { mesh: { sessions, log } }: Keeper,
  service: string,
  request: Using,
  right: string,
): Promise<void> {
  const { do: verb, use } = request;
  if (rightFor(request) === right && (await isOfWork(sessions, service, request))) return;
  const { kind, app, user, session } = use;
  log.warn({ audit: true, service, verb, kind, app, user, session }, 'refused a credential: no work in hand');
  throw new MeshError(
    'permission_denied',
    `${service} may not ${verb} this ${kind} of user ${user} in app ${app}: credentials are for the run or the call that it works on now (session ${session}), and for the credential keys of its definition`,
  );
}

async function isOfWork(
  sessions: Mesh['sessions'],
  service: string,
  { do: verb, use }: Using,
): Promise<boolean> {
  // A sealed answer is worth no more than a plain one in a message, which these services may send anyway.
  if (use.kind === 'answer' && verb === 'seal') return true;
  const ref = { appName: use.app, userId: use.user, sessionId: use.session };
  if (await hasWork(sessions, service, ref)) return true;
  if (use.kind !== 'answer') return false;
  // The agent checks an answer to its question before it takes the session.
  const question = await sessions.pending.get({ ...ref, callId: use.question });
  return question !== undefined && serviceName('agent', question.service ?? question.agent) === service;
}
