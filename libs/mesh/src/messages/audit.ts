import { getFunctionResponses } from '@agentmesh/agent';
import { questionNames } from '@agentmesh/agent/internal';
import {
  type AnsweredBy,
  type AuditAction,
  type Event,
  MeshError,
  meshTime,
  type SessionRef,
  type StoredAuditRecord,
  shortId,
} from '@agentmesh/protocol';
import type { Content } from '@google/genai';
import type { Mesh } from '../mesh/mesh.ts';

/** A security decision of a service. */
export type AuditRecord = Omit<StoredAuditRecord, 'action' | 'callIds' | 'service' | 'replica' | 'time'> & {
  /** Default `answer`. */
  action?: AuditAction;
  /** The calls or questions that the message answers; default none. */
  callIds?: string[];
};

/**
 * Records a security decision as a log line with `audit: true`, and as a message in the stream of audit
 * records. The log line is complete also when the stream cannot be reached.
 *
 * @param key identifies the decision, so that its repetition adds no second message
 * @returns a promise that settles when the message is stored, or cannot be stored
 */
export async function audit(
  { bus, subjects, log }: Pick<Mesh, 'bus' | 'subjects' | 'log'>,
  key: string,
  { action = 'answer', callIds = [], ...record }: AuditRecord,
): Promise<void> {
  const level = record.decision === 'refused' ? 'warn' : 'info';
  log[level]({ audit: true, action, callIds, ...record }, `an act was ${record.decision}`);
  const stored: StoredAuditRecord = {
    ...{ ...record, action, callIds },
    service: bus.service,
    replica: bus.replica,
    time: meshTime(),
  };
  const messageId = shortId(`audit/${record.decision}/${key}`);
  await bus
    .enqueue(subjects.audit(bus.service), stored, { messageId })
    .catch((error: unknown) => log.warn({ err: error }, 'could not store an audit record; the log has it'));
}

/** Records the confirmations in a message that has been committed. */
export function auditConfirmations(mesh: Mesh, session: SessionRef, event: Event): void {
  if (event.author !== 'user') return;
  const answers = getFunctionResponses(event).filter(({ name }) => name === questionNames.confirmation);
  const answeredBy = event.customMetadata?.answeredBy as AnsweredBy | undefined;
  if (answers.length === 0 || answeredBy?.via === 'deadline') return;
  const callIds = answers.flatMap(({ id }) => id ?? []);
  void audit(mesh, `${session.sessionId}/${event.id}`, {
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
  void audit(mesh, key, {
    ...{ decision: 'refused', callIds, session, reason },
    ...(answeredBy && { answeredBy }),
  });
}

/** Records the actions of a remote tool that reach beyond its call, and were left out. */
export function auditActions(
  mesh: Mesh,
  {
    tool,
    callId,
    refused,
    session,
  }: { tool: string; callId: string; refused: string[]; session: SessionRef },
): void {
  if (refused.length === 0) return;
  const what = refused.slice(0, 10).join(', ');
  void audit(mesh, `actions/${callId}/${what}`, {
    ...{ decision: 'refused', callIds: [callId], session },
    reason: `tool ${tool} may not change ${what}; it was left out. For state, write remoteTool('${tool}', { writes: ['user', 'app'] })`,
  });
}
