import { isCredentialQuestion } from '@agentmesh/agent/internal';
import type { WorkItem } from '@agentmesh/bus';
import type { DeadLetter, MeshError, ServiceKind } from '@agentmesh/protocol';
import type { Mesh } from '../mesh/mesh.ts';

/** Puts a message away that cannot be worked on, for an operator to look at, before it is acknowledged. */
export async function moveToDeadLetters(
  { bus, subjects }: Mesh,
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
    time: Date.now(),
  };
  // Two queues may count alike.
  await bus.enqueue(subjects.dead(kind, name), letter, { messageId: `dead:${subject}:${key}` });
}

/** How much of a message is kept that nobody could work on, in characters: the letter must fit where the message did. */
const longest = 300_000;

/** What operators look at: no credential, and not more than a letter can hold. An answer that had one cannot be played again. */
function payloadOf({ subject, bytes }: WorkItem): unknown {
  const text = new TextDecoder().decode(bytes);
  // Ids of ours are tokens as they are.
  if (isCredentialQuestion(subject.slice(subject.lastIndexOf('.') + 1))) return removed;
  try {
    const payload = withoutCredentials(JSON.parse(text));
    const length = JSON.stringify(payload)?.length ?? 0;
    return length <= longest
      ? payload
      : { cut: JSON.stringify(payload).slice(0, 10_000), bytes: bytes.length };
  } catch {
    const kept = credentialWords.test(text)
      ? removed
      : Buffer.from(bytes.slice(0, longest / 2)).toString('base64');
    return bytes.length <= longest / 2 ? kept : { cut: kept.slice(0, 10_000), bytes: bytes.length };
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
