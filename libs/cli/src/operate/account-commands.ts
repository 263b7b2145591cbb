import { openResolver } from '@agentmesh/bus';
import { busName, redisPrefixOf, rightsTable } from '@agentmesh/mesh';
import {
  addServices,
  beginRotation,
  finishRotation,
  initAccounts,
  listAccounts,
  lockKeys,
  openKeyFolder,
  pushAccounts,
  readDefinitions,
  removeServices,
  rotateSigningKey,
  type Tenancy,
} from '@agentmesh/mesh/accounts';
import { MeshError, nearest } from '@agentmesh/protocol';
import { type Commands, listReport, type Report, type Surroundings } from '../command/command.ts';
import { Misuse } from '../command/program.ts';
import { connectTimeoutMs } from '../context/surroundings.ts';
import { makeFolder } from '../local/make-folder.ts';
import { addTraces, removeTraces } from './service-traces.ts';

/** The commands for accounts in the JWT form, and for the rights of both forms, by their words. */
export const accountCommands: Commands = {
  'accounts init': {
    usage: '<folder>',
    meaning:
      "makes an operator's keys and the configuration of nats-server in a new folder (docs/accounts.md)",
    async run([path = '']) {
      await makeFolder(path, 0o700);
      const folder = await initAccounts(path);
      const lines = [
        `${folder.path} holds the keys of the operator; keep a copy in a safe place`,
        `start nats-server with ${folder.configuration} and NATS_ACCOUNTS_DIR, then add services`,
      ];
      return { lines, json: { folder: folder.path, configuration: folder.configuration } };
    },
  },
  'accounts add': {
    usage: '<folder> <definitions>',
    meaning:
      'adds services to a running mesh, or changes their rights; the definitions: a module or a JSON file',
    async run([path = '', file = ''], around) {
      const added = await readDefinitions(file);
      return await withTenancy(path, around, async (tenancy) => {
        const { pushed } = await addServices(tenancy, added);
        const creds = added.map((each) => credsOf(tenancy, busName(each)));
        const notes = await addTraces(tenancy, added, around.config.natsUrl);
        return {
          lines: [...creds.map(credsLine), pushedLine(pushed), ...notes],
          json: { creds, pushed, notes },
        };
      });
    },
  },
  'accounts push': {
    usage: '<folder>',
    meaning: 'gives all accounts to the servers again, such as to servers whose accounts are lost',
    run: ([path = ''], around) =>
      withTenancy(path, around, async (tenancy) => {
        const { pushed } = await pushAccounts(tenancy);
        return { lines: [pushedLine(pushed)], json: { pushed } };
      }),
  },
  'accounts remove': {
    usage: '<folder> <service>',
    meaning:
      'closes the connections of a service, such as agent_desk or tool_rate, and takes its account away',
    run: ([path = '', service = ''], around) =>
      withTenancy(path, around, async (tenancy) => {
        const services = await tenancy.folder.mesh(tenancy.namespace).services();
        const { pushed } = await removeServices(tenancy, [service]);
        const manifest = services.find((each) => busName(each) === service);
        const waiting = manifest ? await removeTraces(tenancy, manifest, around.config.natsUrl) : 0;
        const lines = [`${service} has no account any more; ${pushedLine(pushed)}`];
        if (waiting > 0) lines.push(`its queues held ${waiting} messages; see them with orphans list`);
        return { lines, json: { removed: service, pushed, waiting } };
      }),
  },
  'accounts rotate': {
    usage: '<folder> [service]',
    meaning: 'makes new credentials; --finish ends the old ones when all replicas have the new ones',
    options: [
      {
        flags: '--signing-key',
        meaning: "makes a new signing key of the operator instead of a service's credentials",
      },
      { flags: '--finish', meaning: 'ends the old credentials of the service' },
    ],
    async run([path = '', service], around, options) {
      const [isKey, isFinish] = [options.flag('signingKey'), options.flag('finish')];
      if ((service === undefined) !== isKey || (isFinish && isKey))
        throw new Misuse('name a service, or --signing-key alone');
      return await withTenancy(path, around, (tenancy) =>
        service === undefined ? rotateKey(tenancy) : rotateCredentials(tenancy, service, isFinish),
      );
    },
  },
  'accounts list': {
    usage: '<folder>',
    meaning: 'lists the accounts of the mesh with their credentials',
    async run([path = ''], { config }) {
      const folder = await openKeyFolder(path);
      const accounts = await listAccounts(folder, config.namespace);
      if (accounts.length === 0)
        return { lines: [`there are none in the namespace ${config.namespace}`], json: accounts };
      return listReport(accounts, ({ service, account, creds, isRotating }) =>
        [service, account, creds, ...(isRotating ? ['old credentials valid'] : [])].join('  '),
      );
    },
  },
  'rights list': {
    usage: '<definitions> [account]',
    meaning:
      'prints who may do what: the subjects that enter and leave each account of NATS, and its keys and commands of Redis',
    async run([file = '', only], { config }) {
      const services = await readDefinitions(file);
      const rows = rightsTable(
        services,
        config.namespace,
        config.redisPrefix ?? redisPrefixOf(config.namespace),
      );
      const names = [...new Set(rows.map(({ account }) => account))];
      if (only !== undefined && !names.includes(only)) throw unknownAccount(only, names);
      const wanted = rows.filter(({ account }) => only === undefined || account === only);
      const lines = table(
        wanted.map(({ account, verb, subject, others }) => [account, verb, subject, others.join(' ')]),
      );
      return { lines, json: wanted };
    },
  },
};

/** Opens the folder of keys, and a connection to the servers that take accounts. */
async function withTenancy(
  path: string,
  { config }: Surroundings,
  work: (tenancy: Tenancy) => Promise<Report>,
): Promise<Report> {
  const folder = await openKeyFolder(path);
  await using _lock = await lockKeys(folder.path);
  const address = { url: config.natsUrl, credsFile: folder.systemCreds, connectTimeoutMs };
  await using resolver = await openResolver(address);
  return await work({ folder, namespace: config.namespace, resolver });
}

async function rotateKey({ folder, resolver }: Tenancy): Promise<Report> {
  const count = await rotateSigningKey(folder, resolver);
  const lines = [
    `signed and pushed accounts: ${count}`,
    `restart the NATS servers one by one with the new ${folder.configuration}: it ends the old key`,
  ];
  return { lines, json: { pushed: count, configuration: folder.configuration } };
}

async function rotateCredentials(tenancy: Tenancy, service: string, isFinish: boolean): Promise<Report> {
  if (isFinish) {
    await finishRotation(tenancy, service);
    return { lines: [`the old credentials of ${service} are not valid any more`], json: { ended: service } };
  }
  await beginRotation(tenancy, service);
  const creds = credsOf(tenancy, service);
  const lines = [credsLine(creds), 'give them to its replicas, then end the old ones with --finish'];
  return { lines, json: creds };
}

interface ServiceCreds {
  service: string;
  creds: string;
}

function credsOf({ folder, namespace }: Tenancy, service: string): ServiceCreds {
  return { service, creds: folder.mesh(namespace).creds(service) };
}

function credsLine({ service, creds }: ServiceCreds): string {
  return `${service}: its credentials (MESH_NATS_CREDS) are in ${creds}`;
}

function pushedLine(pushed: readonly string[]): string {
  return `pushed accounts: ${pushed.length === 0 ? 'none, the servers have them all' : pushed.join(', ')}`;
}

function unknownAccount(account: string, names: readonly string[]): MeshError {
  const meant = nearest(account, names);
  const advice = meant ? `did you mean ${meant}?` : `the accounts are ${names.join(', ')}`;
  return new MeshError('not_found', `there is no account ${account}; ${advice}`);
}

/** Writes rows with columns of one width. */
function table(rows: readonly string[][]): string[] {
  const widths = [0, 1, 2].map((at) => Math.max(0, ...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
