import { keys as keysOf } from './keys.ts';
import { every, type NameOrEvery } from './subjects.ts';
import { encodeName, encodeToken } from './token.ts';

/** Stands for any name. Nobody can choose it, as the name `*` could be chosen. */
const any = crypto.randomUUID();

/**
 * Makes the patterns of Redis' access rules for the keys of the mesh. Patterns are few and short, because Redis
 * compares them with the keys of each command, also within functions.
 */
export function keyPatterns(prefix = 'am') {
  const keys = keysOf(prefix);
  const open = (key: string) => key.replaceAll(encodeToken(any), '*');
  const nameOf = (name: NameOrEvery) => (name === every ? any : name);
  const secretPart = (key: string) => `${key.slice(0, key.lastIndexOf(':') + 1)}*`;
  return {
    /** All keys of an app and its users, except their secrets. */
    app: (app: NameOrEvery): string[] =>
      app === every
        ? [`${prefix}:{*`]
        : [`${prefix}:{${encodeToken(app)}:*`, `${prefix}:{${encodeToken(app)}}:*`],
    index: (app: string) => open(keys.index(app, any)),
    invocations: (app: string) => open(keys.invocation(app, any, any)),
    /** The keys of all apps that tell who works for a session: sessions, invocations and pending calls. */
    work: () => [
      open(keys.session({ appName: any, userId: any, sessionId: any })),
      open(keys.invocation(any, any, any)),
      open(keys.pending(any, any)),
    ],
    /** The keys that tell whether calls are pending or answered. */
    callStates: (app: string) => [
      open(keys.pending(app, any)),
      open(keys.answered({ appName: app, userId: any, sessionId: any })),
    ],
    memory(app: string): string[] {
      const { meta } = keys.memory(app, any);
      return [open(meta), `${open(meta)}:*`];
    },
    /** The lists of the users' credentials. */
    credentialLists: (app: NameOrEvery) => open(keys.credentials(nameOf(app), any)),
    /** The credentials under a key, and the turns to renew them. */
    credentials: (app: NameOrEvery, key: NameOrEvery): string[] =>
      [keys.credential, keys.credentialTurn]
        .map((make) => open(make(nameOf(app), any, nameOf(key))))
        .map((pattern) => (key === every ? secretPart(pattern) : pattern)),
    /** The data keys of the users of all apps. */
    dataKeys: open(keys.dataKey(any, any)),
    keeperKey: keys.keeperKey,
    signIns: (app: NameOrEvery) =>
      secretPart(open(keys.signIn({ appName: nameOf(app), userId: any, sessionId: any }, any))),
    /** The sets that lead from a call to the sessions of any app. */
    asking: open(keys.asking(any)),
    deadlines: (service: NameOrEvery) => open(keys.deadlines(nameOf(service))),
    /** The results of a tool's calls, and its jobs. */
    calls: (tool: NameOrEvery): string[] => [
      open(keys.call(nameOf(tool), any)),
      tool === every ? `${prefix}:job:*` : `${prefix}:job:{${encodeName(tool)}:*`,
    ],
    apiKeys: keys.apiKeys,
    limits: `${prefix}:limit:*`,
    callerKeys: open(keys.callerKey(any)),
    own: (service: string) => open(keys.own(service, any)),
  };
}

export type KeyPatterns = ReturnType<typeof keyPatterns>;
