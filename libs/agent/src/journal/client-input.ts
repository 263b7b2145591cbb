import {
  type ClientInput,
  type ClientTool,
  clientInputSchema,
  clientKey,
  type Event,
} from '@agentmesh/protocol';
import type { FunctionCall } from '@google/genai';
import { logIndex } from '../events/log-index.ts';

/** The parts of an invocation context by which its messages are found. */
interface MessagesOf {
  readonly session: { readonly events: readonly Event[] };
  readonly journal: { readonly invocations: ReadonlySet<string> };
}

/** Returns the metadata of a user's message that holds what the client has given beside it. */
export function clientMetadata(client: ClientInput | undefined): Record<string, unknown> | undefined {
  return client && { [clientKey]: client };
}

/** Returns what the client has given beside a message of a user. */
export function clientInputOf({ author, customMetadata }: Event): ClientInput | undefined {
  const input = author === 'user' ? customMetadata?.[clientKey] : undefined;
  return input === undefined ? undefined : clientInputSchema.safeParse(input).data;
}

/** Returns the tools that the client runs, as the newest message of the journal that declares tools has them. */
export function clientTools(context: MessagesOf): readonly ClientTool[] {
  return inputsOf(context).findLast(({ input }) => input.tools)?.input.tools ?? [];
}

/** The context that a client has given, and the id of the message with which it came. */
export interface ClientContext {
  messageId: string;
  entries: NonNullable<ClientInput['context']>;
}

/** Returns the newest context in the journal; undefined if the client has given none. */
export function clientContext(context: MessagesOf): ClientContext | undefined {
  const newest = inputsOf(context).findLast(({ input }) => input.context);
  return newest && { messageId: newest.id, entries: newest.input.context ?? [] };
}

/** Returns the calls among those of an event that only the client can answer, whichever tools it declares by now. */
export function clientCalls(
  { longRunningToolIds = [] }: Event,
  calls: readonly FunctionCall[],
  context: MessagesOf,
): FunctionCall[] {
  const open = calls.filter(({ id = '' }) => longRunningToolIds.includes(id));
  if (open.length === 0) return [];
  const names = new Set(
    inputsOf(context).flatMap(({ input: { tools = [] } }) => tools.map(({ name }) => name)),
  );
  return open.filter(({ name = '' }) => names.has(name));
}

/** Returns the inputs of the journal. They count on all branches, and for steps that began after the message. */
function inputsOf({ session, journal }: MessagesOf): { id: string; input: ClientInput }[] {
  const events = logIndex(session.events).ofInvocations(journal.invocations);
  return events.flatMap((event) => {
    const input = clientInputOf(event);
    return input ? [{ id: event.id, input }] : [];
  });
}
