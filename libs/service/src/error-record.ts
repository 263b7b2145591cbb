import { isSuppressedError, MeshError } from '@agentmesh/protocol';

/** The logged form of an error: with its stack and the chain of causes. */
export interface ErrorRecord {
  type: string;
  message: string;
  code?: unknown;
  details?: unknown;
  stack?: string;
  cause?: ErrorRecord;
  errors?: ErrorRecord[];
}

/** Greatest length of a chain of causes; a longer chain is taken for a cycle. */
const maxCauses = 8;

/**
 * Returns the logged form of a thrown value. Of foreign errors it takes only `code`: their other fields may
 * hold anything.
 */
export function errorRecord(thrown: unknown, depth = 0): ErrorRecord {
  if (!(thrown instanceof Error)) return { type: typeof thrown, message: String(thrown) };
  const record: ErrorRecord = { type: thrown.name, message: thrown.message };
  if ('code' in thrown) record.code = thrown.code;
  if (thrown instanceof MeshError && thrown.details) record.details = thrown.details;
  if (thrown.stack) record.stack = thrown.stack;
  if (depth < maxCauses) {
    if (thrown.cause !== undefined) record.cause = errorRecord(thrown.cause, depth + 1);
    if (thrown instanceof AggregateError) {
      record.errors = thrown.errors.map((error: unknown) => errorRecord(error, depth + 1));
    }
    // `using` throws it when more than one owner fails to stop.
    if (isSuppressedError(thrown)) {
      record.errors = [thrown.error, thrown.suppressed].map((error) => errorRecord(error, depth + 1));
    }
  }
  return record;
}

/** Returns the messages of an error's causes, outermost first, for a line that people read. */
export function causeMessages(error: Error): string[] {
  const messages: string[] = [];
  for (let cause = error.cause; cause !== undefined && messages.length < maxCauses; ) {
    messages.push(cause instanceof Error ? cause.message || cause.name : String(cause));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return messages;
}
