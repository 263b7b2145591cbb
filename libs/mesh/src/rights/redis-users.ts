import { every, type KeyPatterns, keyPatterns } from '@agentmesh/protocol';
import { commandsOf, type StorePart } from '@agentmesh/store';
import { provisionUser, reachOf } from './accounts.ts';
import { callsTo } from './permissions.ts';
import {
  busName,
  gatewayManifest,
  hasKeeper,
  keeperManifest,
  type ServiceManifest,
} from './service-manifest.ts';

/** A user of Redis: its key patterns, in the form of an access rule, and its commands. */
export interface RedisUser {
  name: string;
  /** The patterns: `~` to use keys, `%R~` to read them, `%W~` to write and delete them. */
  patterns: string[];
  commands: string[];
}

export interface RedisUsersOptions {
  /** Every agent and tool; the gateway and the user for provisioning are added. */
  services: readonly ServiceManifest[];
  /** First part of all keys; default `am`. */
  prefix?: string;
}

/**
 * Returns the users of Redis: one for each service, with the keys and commands of its work, and one for the
 * provisioning step and the operator's command.
 */
export function redisUsers({ services, prefix = 'am' }: RedisUsersOptions): RedisUser[] {
  const names = keyPatterns(prefix);
  return [
    {
      name: provisionUser,
      patterns: [`~${prefix}:*`],
      commands: commandsOf([
        'connection',
        'api-keys',
        'calls',
        'credentials',
        'memory',
        'sessions',
        'functions',
        'operator',
      ]),
    },
    gatewayUser(names),
    ...(hasKeeper(services) ? [keeperUser(names)] : []),
    ...services
      .filter(usesRedis)
      .map((manifest) =>
        manifest.kind === 'tool' ? toolUser(names, manifest, services) : agentUser(names, manifest, services),
      ),
  ];
}

/** Tells whether a service needs a user of Redis: an agent or a tool. */
export function usesRedis({ kind }: ServiceManifest): boolean {
  return kind === 'agent' || kind === 'tool';
}

/**
 * The gateway uses the sessions and memories of all apps. It deletes credentials and does not read them, and
 * deletes the records of calls with the sessions of the calls. It reads API keys, and makes none.
 */
function gatewayUser(names: KeyPatterns): RedisUser {
  const use = [
    ...names.app(every),
    names.credentialLists(every),
    names.signIns(every),
    names.asking,
    names.deadlines(every),
    ...names.calls(every),
  ];
  const secrets = names.credentials(every, every);
  return {
    name: busName(gatewayManifest),
    patterns: [
      ...use.map((key) => `~${key}`),
      ...[...secrets, names.dataKeys].map((key) => `%W~${key}`),
      `%R~${names.apiKeys.records}`,
      `%W~${names.apiKeys.uses}`,
      `~${names.callerKeys}`,
      `~${names.limits}`,
    ],
    commands: commandsOf([
      'connection',
      'api-keys',
      'callers',
      'limits',
      'calls',
      'credentials',
      'memory',
      'sessions',
    ]),
  };
}

/** A keeper reads who works for which session, of all apps, and writes data keys alone. It reads no credentials. */
function keeperUser(names: KeyPatterns): RedisUser {
  return {
    name: busName(keeperManifest),
    patterns: [
      ...names.work().map((key) => `%R~${key}`),
      ...[names.dataKeys, names.keeperKey].map((key) => `~${key}`),
    ],
    commands: commandsOf(['connection', 'work', 'data-keys']),
  };
}

/** An agent uses the sessions and memories of its apps, and the records of its tools' calls. */
function agentUser(
  names: KeyPatterns,
  manifest: ServiceManifest,
  services: readonly ServiceManifest[],
): RedisUser {
  const apps = appsOf(manifest, services);
  const credentialKeys = manifest.credentialKeys ?? [];
  const reach = reachOf(manifest, services);
  const reached = services.filter((each) => reach.has(busName(each)));
  // The agent that takes an answer gives it to the sign-in of the tool in another process.
  const hasSignIns = reached.some((each) => (each.credentialKeys ?? []).length > 0);
  const use = [
    ...apps.flatMap((app) => [
      ...names.app(app),
      ...credentialPatterns(names, app, credentialKeys),
      ...(hasSignIns ? [names.signIns(app)] : []),
    ]),
    names.asking,
    ...reached.filter(({ kind }) => kind === 'agent').map(({ name }) => names.deadlines(name)),
    ...callsTo(manifest, services).flatMap(names.calls),
  ];
  const parts: StorePart[] = hasSignIns ? ['credentials'] : [];
  return {
    name: busName(manifest),
    patterns: [...[...new Set(use)].map((key) => `~${key}`), `%R~${names.callerKeys}`],
    commands: commandsOf(['connection', 'callers', 'calls', 'memory', 'sessions', ...parts]),
  };
}

/**
 * A tool uses the records of its own calls and jobs, and data of its own. It reads whether the invocation of
 * a call is cancelled, and a long-running tool also whether the call has its answer.
 */
function toolUser(
  names: KeyPatterns,
  manifest: ServiceManifest,
  services: readonly ServiceManifest[],
): RedisUser {
  const { name, longRunning = false, usesMemory = false, credentialKeys = [] } = manifest;
  const apps = appsOf(manifest, services);
  const use = [
    ...names.calls(name),
    names.own(busName(manifest)),
    ...apps.flatMap((app) => [
      ...(usesMemory ? names.memory(app) : []),
      ...credentialPatterns(names, app, credentialKeys),
    ]),
  ];
  const reads = [
    ...apps.flatMap((app) => [names.invocations(app), ...(longRunning ? names.callStates(app) : [])]),
    names.callerKeys,
  ];
  const parts: StorePart[] = [
    ...(usesMemory ? (['memory'] as const) : []),
    ...(credentialKeys.length > 0 ? (['credentials'] as const) : []),
  ];
  return {
    name: busName(manifest),
    patterns: [...use.map((key) => `~${key}`), ...reads.map((key) => `%R~${key}`)],
    commands: commandsOf(['connection', 'callers', 'calls', 'records', ...parts]),
  };
}

function credentialPatterns(names: KeyPatterns, app: string, credentialKeys: readonly string[]): string[] {
  if (credentialKeys.length === 0) return [];
  return [
    names.credentialLists(app),
    ...credentialKeys.flatMap((key) => names.credentials(app, key)),
    names.signIns(app),
    names.index(app),
  ];
}

/**
 * Returns the apps in whose sessions a service works: its own app, and the apps of all agents that reach it. A
 * program may also ask an agent without an app, whose sessions then belong to the app of the agent's name.
 */
function appsOf(manifest: ServiceManifest, services: readonly ServiceManifest[]): string[] {
  const callers = services.filter(
    (each) => each.kind === 'agent' && reachOf(each, services).has(busName(manifest)),
  );
  return [...new Set(callers.map(({ app, name }) => app ?? name))];
}
