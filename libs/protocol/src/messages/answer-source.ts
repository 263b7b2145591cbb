import { digestOf } from '../parsing/digest.ts';
import { type AnsweredBy, answeredBySchema } from './answered-by.ts';
import { readSigned, type Signer } from './signer.ts';

/** The run whose message has the answers: nobody can show their source for another run, or for other answers. */
export interface AnsweringRun {
  appName: string;
  userId: string;
  sessionId: string;
  invocationId: string;
  resume?: string | undefined;
  /** The message, as content. */
  message: unknown;
}

/**
 * The kinds of services that vouch for the source of an answer: a gateway for people who sent it a request, and an
 * agent for an answer that it accepted before, which starts a run.
 */
export type Voucher = 'gateway' | 'agent';

/** The types of tokens: they distinguish sources from all other tokens. */
const types: Record<Voucher, string> = {
  gateway: 'agentmesh-answer+jwt',
  agent: 'agentmesh-accepted-answer+jwt',
};
/** The ways of answers that agents accept. */
const waysOfAgents = ['nats', 'job', 'deadline'];
const gateway = 'gateway';

/**
 * Signs the source of the answers in the message of a run.
 *
 * @throws MeshError `invalid_argument` for more roles than a header can hold
 */
export async function signSource(
  signer: Signer,
  voucher: Voucher,
  run: AnsweringRun,
  answeredBy: AnsweredBy,
): Promise<string> {
  return await signer.sign(types[voucher], { ...claimsOf(run), answeredBy });
}

/**
 * Reads the signed source of the answers in the message of a run.
 *
 * @param keyOf returns the public key of a service, as a JWK in JSON; undefined for an id that no such service has
 * @returns undefined for a source that nobody signed who may vouch for it, and for one of another run or answer
 */
export async function readSource(
  signed: string,
  run: AnsweringRun,
  keyOf: (voucher: Voucher, keyId: string) => Promise<string | undefined>,
): Promise<AnsweredBy | undefined> {
  const claims = await readSigned(signed, async (keyId, typ) => {
    const voucher = voucherOf(typ);
    return voucher && (await keyOf(voucher, keyId));
  });
  if (!claims) return undefined;
  const expected = Object.entries(claimsOf(run));
  if (expected.some(([name, value]) => claims[name] !== value)) return undefined;
  const { data: answeredBy } = answeredBySchema.safeParse(claims.answeredBy);
  if (!answeredBy) return undefined;
  return voucherOf(claims.typ) === 'gateway' || isOfAgent(answeredBy) ? answeredBy : undefined;
}

function voucherOf(typ: string): Voucher | undefined {
  return (['gateway', 'agent'] as const).find((voucher) => types[voucher] === typ);
}

/** Tells whether an agent may state this source: no agent can know what a gateway knows of people. */
function isOfAgent({ via, service }: AnsweredBy): boolean {
  return waysOfAgents.includes(via) && service !== gateway;
}

function claimsOf({ appName, userId, sessionId, invocationId, resume, message }: AnsweringRun) {
  return {
    ...{ app: appName, user: userId, session: sessionId, invocation: invocationId },
    ...{ resume: resume ?? '', message: digestOf(message) },
  };
}
