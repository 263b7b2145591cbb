import { validateAppName } from '@agentmesh/agent';
import { openResolver } from '@agentmesh/bus';
import { type ServiceManifest, usesRedis } from '@agentmesh/mesh';
import { lockKeys, openKeyFolder } from '@agentmesh/mesh/accounts';
import { AsyncDisposableStack, assertName, MeshError } from '@agentmesh/protocol';
import { openRedisAccess, type RedisAccessList } from '@agentmesh/store';
import type { CommandOption, Commands, Report, Surroundings } from '../../command/command.ts';
import type { Options } from '../../command/options.ts';
import { Misuse } from '../../command/program.ts';
import { keysVariable } from '../../context/context-file.ts';
import { connectTimeoutMs } from '../../context/surroundings.ts';
import { type Joined, type JoinedMesh, joinService, revokeService } from './join-service.ts';

const keysOption: CommandOption = {
  flags: '--keys <folder>',
  meaning: "the folder with the operator's keys; default that of the mesh of npm start or agentmesh dev",
};
const noRedisOption: CommandOption = {
  flags: '--no-redis',
  meaning: 'changes no users of Redis; prints what to add to its ACL file',
};

/** The commands by which services in any language join a running mesh and leave it, by their words. */
export const joinCommands: Commands = {
  join: {
    usage: '<name>',
    meaning: 'gives one more service, in any language, its credentials and rights while the mesh runs',
    options: [
      { flags: '--kind <kind>', meaning: 'the kind of the service', choices: ['tool', 'agent', 'publisher'] },
      {
        flags: '--agents <names>',
        meaning: 'of a publisher: the agents that it gives runs to and asks; * for all',
      },
      { flags: '--listens', meaning: 'of a publisher: it hears the committed events of all sessions' },
      { flags: '--long-running', meaning: 'of a tool: its calls are jobs in a queue' },
      { flags: '--app <name>', meaning: 'of an agent: the app whose root it is' },
      { flags: '--calls <names>', meaning: 'of an agent: the tools that it calls' },
      { flags: '--asks <names>', meaning: 'of an agent: the agents that it asks' },
      { flags: '--transfers <names>', meaning: 'of an agent: the agents to which it transfers' },
      { flags: '--files', meaning: 'of an agent or a tool: it uses files of sessions and users' },
      {
        flags: '--credentials <keys>',
        meaning: 'of an agent or a tool: the credential keys under which it uses credentials of users',
      },
      {
        flags: '--show',
        meaning: 'prints the environment with its secrets, which is otherwise in a file alone',
      },
      keysOption,
      noRedisOption,
    ],
    more: 'Names in lists are separated by commas. docs/any-language.md explains what the service sends and receives.',
    async run([name = ''], around, options) {
      const manifest = manifestOf(name, options);
      const joined = await withMesh(around, options, usesRedis(manifest), (mesh) =>
        joinService(mesh, manifest),
      );
      return reportOf(joined, { manifest, isShown: options.flag('show') });
    },
  },
  revoke: {
    usage: '<name>',
    meaning: 'takes the credentials of a service that joined away, and closes its connections',
    options: [keysOption, noRedisOption],
    async run([name = ''], around, options) {
      const { service, waiting } = await withMesh(around, options, true, (mesh) => revokeService(mesh, name));
      const lines = [`${service} has no credentials any more, and its connections are closed`];
      if (waiting > 0) lines.push(`its queues held ${waiting} messages; see them with orphans list`);
      return { lines, json: { revoked: service, waiting } };
    },
  },
};

/** The options that belong to one kind. */
const ofKind: Record<string, readonly string[]> = {
  publisher: ['agents', 'listens'],
  tool: ['longRunning', 'files', 'credentials'],
  agent: ['app', 'calls', 'asks', 'transfers', 'files', 'credentials'],
};

function manifestOf(name: string, options: Options): ServiceManifest {
  const kind = options.text('kind');
  if (kind !== 'tool' && kind !== 'agent' && kind !== 'publisher')
    throw new Misuse('name the kind: --kind tool, --kind agent or --kind publisher');
  assertName(kind === 'publisher' ? 'agent' : kind, name);
  for (const [other, names] of Object.entries(ofKind)) {
    const wrong = names
      .filter((each) => !ofKind[kind]?.includes(each))
      .find((each) => options.text(each) !== undefined || options.flag(each));
    if (wrong !== undefined) {
      const flag = wrong.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
      throw new Misuse(`--${flag} is for a service of kind ${other}, and ${name} is of kind ${kind}`);
    }
  }
  const app = options.text('app');
  if (app !== undefined) validateAppName(app);
  const calls = namesIn(options.text('calls'));
  const asks = namesIn(options.text('asks'));
  const transfers = namesIn(options.text('transfers'));
  for (const tool of calls) assertName('tool', tool);
  for (const agent of [...asks, ...transfers]) assertName('agent', agent);
  const credentialKeys = namesIn(options.text('credentials'));
  const agents = namesIn(options.text('agents'));
  if (kind === 'publisher' && agents.length === 0)
    throw new Misuse('name the agents of the publisher: --agents weather_agent, or --agents "*" for all');
  return {
    ...{ kind, name, joined: true },
    ...{ transfers, calls },
    asks: kind === 'publisher' ? agents : asks,
    ...(app !== undefined && { app }),
    ...(options.flag('longRunning') && { longRunning: true }),
    ...(options.flag('listens') && { listens: true }),
    ...(options.flag('files') && { usesArtifacts: true }),
    ...(credentialKeys.length > 0 && { credentialKeys }),
  };
}

function namesIn(list = ''): string[] {
  return list
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean);
}

/** Opens the keys of the mesh for one piece of work at a time. */
async function withMesh<T>(
  { config, mesh: found }: Surroundings,
  options: Options,
  needsRedis: boolean,
  work: (mesh: JoinedMesh) => Promise<T>,
): Promise<T> {
  const path = options.text('keys') ?? found.env[keysVariable];
  if (!path) throw noKeys(found.source);
  const folder = await openKeyFolder(path);
  await using owners = new AsyncDisposableStack();
  owners.use(await lockKeys(path, { waitMs: 60_000 }));
  const address = { url: config.natsUrl, credsFile: folder.systemCreds, connectTimeoutMs };
  const resolver = owners.use(await openResolver(address));
  const redisUrl = (await folder.redisUrl()) ?? config.redisUrl.reveal();
  let redis: RedisAccessList | undefined;
  if (needsRedis && !options.isOff('redis'))
    redis = owners.use(await openRedis(redisUrl, config.redisCaFile));
  const tenancy = { folder, namespace: config.namespace, resolver };
  return await work({ tenancy, natsUrl: config.natsUrl, redisUrl, redisPrefix: config.redisPrefix, redis });
}

async function openRedis(url: string, caFile: string | undefined): Promise<RedisAccessList> {
  try {
    return await openRedisAccess({ url, caFile, timeoutMs: connectTimeoutMs });
  } catch (thrown) {
    const { code, message } = MeshError.from(thrown);
    const advice = 'set REDIS_URL to a user who may (ACL), or use --no-redis and add the user by hand';
    throw new MeshError(code, `the users of Redis cannot be changed: ${message}; ${advice}`, {
      cause: thrown,
    });
  }
}

function noKeys(source: string): MeshError {
  return new MeshError(
    'failed_precondition',
    `a service joins a mesh whose accounts are JWTs, and ${source} names no folder of keys: use --keys <folder>. With accounts in nats-server.conf, add the service to the definitions, write the file again (agentmesh rights nats), and restart the servers`,
  );
}

/** Returns the program that starts a service, with the names of the files in docs/examples/any-language. */
function programOf({ kind, asks: [agent = '*'] }: ServiceManifest): string {
  if (kind === 'publisher') return `python3 publisher.py ask ${agent === '*' ? '<agent>' : agent} "Hello"`;
  return kind === 'tool' ? 'python3 tool.py' : 'node main.ts';
}

function reportOf(
  { service, creds, env, variables, rights, notes }: Joined,
  { manifest, isShown }: { manifest: ServiceManifest; isShown: boolean },
): Report {
  const may = rights.map(({ verb, subject, others }) => `  ${verb} ${subject} (${others.join(', ')})`);
  const lines = [
    `${service} has joined: start it with the variables in ${env}, for example`,
    `  set -a; . ${env}; set +a; ${programOf(manifest)}`,
    `its credentials of NATS are in ${creds}; nobody else may read the two files`,
    'it may, and nothing else:',
    ...may,
    ...notes,
    ...(isShown ? Object.entries(variables).map(([name, value]) => `${name}=${value}`) : []),
  ];
  return { lines, json: { service, creds, env, rights, notes, ...(isShown && { variables }) } };
}
