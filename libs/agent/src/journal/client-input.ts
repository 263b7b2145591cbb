import {
  type ClientInput,
  type ClientTool,
  clientInputSchema,
  clientKey,
  type Event,
} from '@agentmesh/protocol';
import type { FunctionCall } from '@google/genai';
import { logIndex } from '../events/log-index.ts';
import { wellFormed } from '../events/well-formed.ts';

/** The parts of an invocation context by which its messages are found. */
interface MessagesOf {
  readonly session: { readonly events: readonly Event[] };
  readonly journal: { readonly invocations: ReadonlySet<string> };
}

/** Returns the metadata of a user's message that holds what the client has given beside it. */
export function clientMetadata(client: ClientInput | undefined): Record<string, unknown> | undefined {
  return client && { [clientKey]: wellFormed(client) };
}

/** Remembers the inputs of events, because each step looks at all messages of its journal. */
const inputs = new WeakMap<object, ClientInput | undefined>();

/** Returns what the client has given beside a message of a user. */
export function clientInputOf({ author, customMetadata }: Event): ClientInput | undefined {
  const input = author === 'user' ? customMetadata?.[clientKey] : undefined;
  if (typeof input !== 'object' || input === null) return undefined;
  if (!inputs.has(input)) inputs.set(input, clientInputSchema.safeParse(input).data);
  return inputs.get(input);
}

/** Returns the tools that the client runs, as the newest message of the journal that declares tools has them. */
export function clientTools(context: MessagesOf): readonly ClientTool[] {
  return inputsOf(context).findLast(({ tools }) => tools)?.tools ?? [];
}

/** The newest context that a client has given, and the ids of the messages of the journal. */
export interface ClientContext {
  messageIds: ReadonlySet<string>;
  entries: NonNullable<ClientInput['context']>;
}

/** Returns the context that counts for a run; undefined if the client has given none. */
export function clientContext(context: MessagesOf): ClientContext | undefined {
  const entries = inputsOf(context).findLast((input) => input.context)?.context;
  return entries && { messageIds: new Set(messagesOf(context).map(({ id }) => id)), entries };
}

/** Returns the calls among those of an event that only the client can answer, whichever tools it declares by now. */
export function clientCalls(
  { longRunningToolIds = [] }: Event,
  calls: readonly FunctionCall[],
  context: MessagesOf,
): FunctionCall[] {
  const open = calls.filter(({ id = '' }) => longRunningToolIds.includes(id));
  if (open.length === 0) return [];
  const names = new Set(inputsOf(context).flatMap(({ tools = [] }) => tools.map(({ name }) => name)));
  return open.filter(({ name = '' }) => names.has(name));
}

const inputsOf = (context: MessagesOf): ClientInput[] =>
  messagesOf(context).flatMap((event) => clientInputOf(event) ?? []);

/** Returns the messages of the journal. They count on all branches, and for steps that began after them. */
function messagesOf({ session, journal }: MessagesOf): Event[] {
  return logIndex(session.events)
    .ofInvocations(journal.invocations)
    .filter(({ author }) => author === 'user');
}
