import type { WorkItem } from '@agentmesh/bus';
import type { DeadLetter, MeshError, ServiceKind } from '@agentmesh/protocol';
import type { Mesh } from './mesh.ts';

/** Puts a message away that cannot be worked on, for an operator to look at, before it is acknowledged. */
export async function bury(
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

/** What operators look at holds no credential: an answer that has one cannot be played again. */
function payloadOf(item: WorkItem): unknown {
  try {
    return withoutCredentials(item.json());
  } catch {
    return Buffer.from(item.bytes).toString('base64');
  }
}

function withoutCredentials(payload: unknown): unknown {
  const text = JSON.stringify(payload, (key, value: unknown) =>
    key === 'exchangedAuthCredential' ? '[removed]' : value,
  );
  return text === undefined ? undefined : JSON.parse(text);
}
