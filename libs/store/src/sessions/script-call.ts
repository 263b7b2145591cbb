import { type InvocationRef, runName, type UserOwner } from '@agentmesh/agent/internal';
import { encodeToken, type Keys, type SessionRef } from '@agentmesh/protocol';
import type { NamedScript, ScriptValues } from '../scripts/define-script.ts';

type Ref = UserOwner & Partial<InvocationRef>;
type KeyOf = (keys: Keys, ref: SessionRef & InvocationRef) => string;

/** The keys of a session, its invocations and its user, by their names in scripts. */
const keyOf = {
  session: (keys, ref) => keys.session(ref),
  events: (keys, ref) => keys.events(ref),
  state: (keys, ref) => keys.state(ref),
  waiting: (keys, ref) => keys.waiting(ref),
  waitingRuns: (keys, ref) => keys.waitingRuns(ref),
  answered: (keys, ref) => keys.answered(ref),
  invocation: (keys, { appName, userId, invocationId }) => keys.invocation(appName, userId, invocationId),
  user: (keys, { appName, userId }) => keys.user(appName, userId),
  outbox: (keys, { appName, userId }) => keys.appOutbox(appName, userId),
  pending: (keys, { appName, userId }) => keys.pending(appName, userId),
  running: (keys, { appName, userId }) => keys.running(appName, userId),
  ready: (keys, { appName, userId }) => keys.ready(appName, userId),
  queued: (keys, { appName, userId }) => keys.queued(appName, userId),
  sessions: (keys, { appName, userId }) => keys.sessions(appName, userId),
  hiddenSessions: (keys, { appName, userId }) => keys.hiddenSessions(appName, userId),
  sessionEnds: (keys, { appName, userId }) => keys.sessionEnds(appName, userId),
  index: (keys, { appName, userId }) => keys.index(appName, userId),
} satisfies Record<string, KeyOf>;

/** The arguments that follow from the session too. */
const argumentOf = {
  id: ({ sessionId = '' }: Ref) => sessionId,
  sessionToken: ({ sessionId = '' }: Ref) => encodeToken(sessionId),
  run: (ref: Ref) => runName(ref as InvocationRef),
  resume: (ref: Ref) => resumeName(ref),
};

type KeyName = keyof typeof keyOf;
type ArgumentName = keyof typeof argumentOf;

/** Returns the name of the run that continues its invocation, for scripts; '' for the run that began it. */
export function resumeName(ref: Ref): string {
  return ref.resume === undefined ? '' : runName(ref as InvocationRef);
}

/** Returns the keys and arguments of a script that follow from a session, an invocation or a user. */
export function valuesOf<K extends string, A extends string>(
  keys: Keys,
  script: Pick<NamedScript<K, A, never>, 'keys' | 'args'>,
  ref: Ref,
) {
  const values: Record<string, string> = {};
  for (const name of script.keys)
    if (name in keyOf) values[name] = keyOf[name as string as KeyName](keys, ref as InvocationRef);
  for (const name of script.args)
    if (name in argumentOf) values[name] = argumentOf[name as string as ArgumentName](ref);
  return values as Record<Extract<K, KeyName> | Extract<A, ArgumentName>, string>;
}

/** Returns the call of a script; `values` are those that do not follow from the session, or differ. */
export function callOf<K extends string, A extends string, L extends string>(
  keys: Keys,
  script: NamedScript<K, A, L>,
  ref: Ref,
  values: ScriptValues<Exclude<K, KeyName>, Exclude<A, ArgumentName>, L>,
) {
  const known = valuesOf(keys, script as Pick<NamedScript<K, A, never>, 'keys' | 'args'>, ref);
  return script.call({ ...known, ...values } as unknown as ScriptValues<K, A, L>);
}
