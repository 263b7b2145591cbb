import { isCredentialQuestion } from '@agentmesh/agent/internal';
import type { WorkItem } from '@agentmesh/bus';
import { type DeadLetter, type MeshError, meshTime, type ServiceKind } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';

/**
 * Moves a message that cannot be worked on to the dead letters, for an operator, and logs this in one line.
 * Callers do this before they acknowledge the message.
 */
export async function moveToDeadLetters(
  { bus, subjects, log }: Mesh,
  { kind, name }: { kind: ServiceKind; name: string },
  item: WorkItem,
  error: MeshError,
): Promise<void> {
  const { subject, headers, attempt: attempts, key } = item;
  const { code, message } = error;
  const letter: DeadLetter = {
    subject,
    payload: payloadOf(item),
    headers,
    error: { code, message },
    attempts,
    replica: bus.replica,
    time: meshTime(),
  };
  log.error({ [kind]: name, subject, attempts, err: error }, 'moved a message to the dead letters');
  // Two queues may have messages of the same number, so the subject is part of the id.
  await bus.enqueue(subjects.dead(kind, name), letter, { messageId: `dead:${subject}:${key}` });
}

/** Longest payload that a dead letter keeps, in characters: the letter must fit where the message did. */
const maxLength = 300_000;

/**
 * Returns the payload for an operator: without credentials, and not longer than a letter can hold. An answer
 * with a credential cannot be replayed.
 */
function payloadOf({ subject, bytes }: WorkItem): unknown {
  const text = new TextDecoder().decode(bytes);
  // Ids of our own calls are tokens already, so they need no decoding.
  if (subject.split('.').some(isCredentialQuestion)) return removed;
  try {
    const payload = withoutCredentials(JSON.parse(text));
    const length = JSON.stringify(payload)?.length ?? 0;
    return length <= maxLength
      ? payload
      : { cut: JSON.stringify(payload).slice(0, 10_000), bytes: bytes.length };
  } catch {
    const keptText = credentialWords.test(text)
      ? removed
      : Buffer.from(bytes.slice(0, maxLength / 2)).toString('base64');
    return bytes.length <= maxLength / 2 ? keptText : { cut: keptText.slice(0, 10_000), bytes: bytes.length };
  }
}

const removed = '[removed]';
const credentialWords = /exchanged_?auth_?credential/i;

function withoutCredentials(payload: unknown): unknown {
  const text = JSON.stringify(payload, (key, value: unknown) =>
    credentialWords.test(key) || (typeof value === 'string' && credentialWords.test(value)) ? removed : value,
  );
  return text === undefined ? undefined : JSON.parse(text);
}
