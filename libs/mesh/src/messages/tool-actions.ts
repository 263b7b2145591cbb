import { scopeOf } from '@agentmesh/agent/internal';
import { type EventActions, MeshError } from '@agentmesh/protocol';

/** The scopes of state that reach beyond a session. */
export type SharedScope = 'user' | 'app';
const sharedScopes: readonly unknown[] = ['user', 'app'] satisfies SharedScope[];

/** Checks the option `writes`. @throws MeshError `invalid_argument` for anything but shared scopes */
export function readWrites(what: string, writes: readonly SharedScope[] = []): readonly SharedScope[] {
  if (Array.isArray(writes) && writes.every((each) => sharedScopes.includes(each))) return writes;
  throw new MeshError(
    'invalid_argument',
    `${what}: writes is ${JSON.stringify(writes)}; give a list of 'user' and 'app'`,
  );
}

/** The rights that an agent gives to a remote tool. */
export interface ToolRights {
  callId: string;
  /** The scopes that the tool may write, beside the session's. */
  writes: readonly SharedScope[];
  /** Tells whether the tool may ask a person for a sign-in. */
  asksSignIn: boolean;
}

/** Actions that stay within the call, and the names of the others. */
export interface SortedActions {
  own: Partial<EventActions>;
  refused: string[];
}

/**
 * Sorts the actions of a remote tool. Its program, or whoever has its credentials, may change the session's state, save
 * files, end the turn, and ask a person about its own call. Everything else reaches beyond the call: the state of the
 * user and the app, the history, the calls of others, and the position of the agent.
 */
export function sortActions(
  { stateDelta = {}, ...actions }: Partial<EventActions>,
  { callId, writes, asksSignIn }: ToolRights,
): SortedActions {
  const state = writableState(stateDelta, writes);
  const own: Record<string, unknown> = { stateDelta: state.own };
  const refused = [...state.refused];
  for (const [name, value] of Object.entries(actions)) {
    if (value === undefined) continue;
    if (free.has(name)) own[name] = value;
    else if (!questions.has(name)) refused.push(name);
    else {
      const mayAsk = name !== 'requestedAuthConfigs' || asksSignIn;
      const asked = Object.entries(value);
      own[name] = Object.fromEntries(asked.filter(([id]) => id === callId && mayAsk));
      refused.push(
        ...asked.flatMap(([id]) =>
          id !== callId ? `a question about call ${id}` : mayAsk ? [] : 'a sign-in',
        ),
      );
    }
  }
  return { own, refused };
}

/** The actions that concern the call and the turn alone. */
const free: ReadonlySet<string> = new Set<keyof EventActions>([
  ...(['artifactDelta', 'skipSummarization', 'escalate', 'transferToAgent'] as const),
]);
/** The actions that ask a person, by the id of the call. */
const questions: ReadonlySet<string> = new Set<keyof EventActions>([
  ...(['requestedAuthConfigs', 'requestedToolConfirmations', 'requestedInputs'] as const),
]);

/** Sorts the state that a remote tool writes: its session's and `temp:`, and the shared scopes that it may write. */
export function writableState(
  stateDelta: Readonly<Record<string, unknown>>,
  writes: readonly SharedScope[],
): { own: Record<string, unknown>; refused: string[] } {
  const mayWrite = (key: string) => {
    const scope = scopeOf(key);
    return (scope !== 'user' && scope !== 'app') || writes.includes(scope);
  };
  const entries = Object.entries(stateDelta);
  return {
    own: Object.fromEntries(entries.filter(([key]) => mayWrite(key))),
    refused: entries.flatMap(([key]) => (mayWrite(key) ? [] : `the state ${key}`)),
  };
}
