import { getFunctionResponses } from '@agentmesh/agent';
import { questionNames } from '@agentmesh/agent/internal';
import { type AnsweredBy, type Event, MeshError, type SessionRef, shortId } from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import type { Mesh } from '../mesh/mesh.ts';

/** A security decision of a service. */
export interface AuditRecord {
  decision: 'accepted' | 'refused';
  /** The calls or questions that the message answers. */
  callIds: readonly string[];
  /** The session, as far as it is known. */
  session?: SessionRef;
  /** The source of the answer. */
  answeredBy?: AnsweredBy;
  /** The reason of a refusal. */
  reason?: string;
}

/**
 * Records a security decision as a log line with `audit: true`, and as a message in the stream of audit
 * records. The log line is complete also when the stream cannot be reached.
 *
 * @param key identifies the decision, so that its repetition adds no second message
 */
export function audit({ bus, subjects, log }: Mesh, key: string, record: AuditRecord): void {
  const level = record.decision === 'refused' ? 'warn' : 'info';
  log[level]({ audit: true, ...record }, `an answer was ${record.decision}`);
  const stored = { ...record, service: bus.service, replica: bus.replica, time: Date.now() };
  bus
    .enqueue(subjects.audit(bus.service), stored, { messageId: shortId(`audit/${record.decision}/${key}`) })
    .catch((error: unknown) => log.warn({ err: error }, 'could not store an audit record; the log has it'));
}

/** Records the confirmations in a message that has been committed. */
export function auditConfirmations(mesh: Mesh, session: SessionRef, event: Event): void {
  if (event.author !== 'user') return;
  const answers = getFunctionResponses(event).filter(({ name }) => name === questionNames.confirmation);
  const answeredBy = event.customMetadata?.answeredBy as AnsweredBy | undefined;
  if (answers.length === 0 || answeredBy?.via === 'deadline') return;
  const callIds = answers.flatMap(({ id }) => id ?? []);
  audit(mesh, `${session.sessionId}/${event.id}`, {
    ...{ decision: 'accepted', callIds, session },
    ...(answeredBy && { answeredBy }),
  });
}

/** A message with answers that a person may not give. */
export interface RefusedMessage {
  session: SessionRef;
  message: Content | undefined;
  answeredBy: AnsweredBy | undefined;
}

/** Records that a message was refused, if it was refused because of the person. */
export function auditRefusedMessage(
  mesh: Mesh,
  key: string,
  { session, message, answeredBy }: RefusedMessage,
  error: unknown,
): void {
  const { code, message: reason } = MeshError.from(error);
  if (code !== 'permission_denied') return;
  const callIds = (message?.parts ?? []).flatMap(({ functionResponse }) => functionResponse?.id ?? []);
  audit(mesh, key, {
    ...{ decision: 'refused', callIds, session, reason },
    ...(answeredBy && { answeredBy }),
  });
}
