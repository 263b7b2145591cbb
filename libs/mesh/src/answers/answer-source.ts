import { unknownSource } from '@agentmesh/agent/internal';
import {
  type AnsweredBy,
  type Headers,
  MeshError,
  messageSchema,
  parse,
  type RunCommandInput,
  type SessionRef,
  type Voucher,
} from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import type { Mesh } from '../mesh/mesh.ts';

/** The run of a command, and the parts of it that decide whether its message answers. */
interface MaybeAnswering extends SessionRef {
  invocationId: string;
  resume?: string | undefined;
  message?: Content | undefined;
  runConfig?: RunCommandInput['runConfig'] | undefined;
}

/**
 * Returns the header by which this service vouches for the source of the answers in a run command; no header for a
 * message without answers.
 *
 * @param run the run, with its message as it is published
 * @throws MeshError `permission_denied` in a service that may not vouch
 */
export async function vouchFor(
  { callers }: Mesh,
  voucher: Voucher,
  run: Omit<MaybeAnswering, 'message'> & { message: unknown },
  answeredBy: AnsweredBy | undefined,
): Promise<Headers> {
  if (!answeredBy) return {};
  const answering = { ...run, message: parse(messageSchema, run.message, 'the message') };
  if (!mayAnswer(answering)) return {};
  try {
    return await callers.signSource(voucher, answering, answeredBy);
  } catch (cause) {
    if (voucher === 'agent' || MeshError.from(cause).code !== 'permission_denied') throw cause;
    throw new MeshError(
      'permission_denied',
      'only a gateway may say who answers in the message of a run: leave answeredBy out, or send the answer as an update of its call',
      { cause },
    );
  }
}

/**
 * Returns the source of the answers in a run command: the one for which a gateway or an agent of the app vouches, and
 * otherwise an unknown person. Undefined for a message without answers.
 */
export async function sourceIn(
  { callers, log }: Mesh,
  headers: Headers,
  run: MaybeAnswering,
): Promise<AnsweredBy | undefined> {
  const { message, appName, userId, sessionId, invocationId } = run;
  const source = unvouchedSource(run);
  if (!source || !message) return source;
  const vouched = await callers.readSource(headers, { ...run, message });
  if (vouched) return vouched;
  log.info({ appName, userId, sessionId, invocationId }, 'nobody vouches for the source of an answer');
  return source;
}

/** Returns the source of the answers in a run command for which nobody vouches; undefined for other messages. */
export function unvouchedSource(run: Pick<MaybeAnswering, 'message' | 'runConfig'>): AnsweredBy | undefined {
  return mayAnswer(run) ? unknownSource : undefined;
}

/** Tells whether a message answers, or may do so by a plain "yes". */
function mayAnswer({ message, runConfig }: Pick<MaybeAnswering, 'message' | 'runConfig'>): boolean {
  if (!message) return false;
  if (runConfig?.plainTextToolConfirmation) return true;
  return (message.parts ?? []).some(({ functionResponse }) => functionResponse !== undefined);
}
