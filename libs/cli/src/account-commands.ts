import { openCards, openQueues, openResolver } from '@agentmesh/bus';
import { busName, rightsTable, type ServiceManifest } from '@agentmesh/mesh';
import {
  addServices,
  beginRotation,
  finishRotation,
  initAccounts,
  listAccounts,
  openKeyFolder,
  pushAccounts,
  readDefinitions,
  removeServices,
  rotateSigningKey,
  type Tenancy,
} from '@agentmesh/mesh/accounts';
import { MeshError, nearest, type QueueName } from '@agentmesh/protocol';
import { type Command, connectTimeoutMs, type Surroundings } from './surroundings.ts';
import { WrongUsage } from './wrong-usage.ts';

/** The commands for accounts in the JWT form, and for the rights of both forms, by their words. */
export const accountCommands: Record<string, Command> = {
  'accounts init': {
    usage: '<folder>',
    meaning:
      "makes an operator's keys and the configuration of nats-server in a new folder (docs/accounts.md)",
    async run([path], { print }) {
      const folder = await initAccounts(required(path, 'name a new folder for the keys', 'accounts init'));
      print(`${folder.path} holds the keys of the operator; keep a copy in a safe place`);
      print(`start nats-server with ${folder.configuration} and NATS_ACCOUNTS_DIR, then add services`);
    },
  },
  'accounts add': {
    usage: '<folder> <definitions>',
    meaning:
      'adds services to a running mesh, or changes their rights; <definitions>: a module or a JSON file',
    async run([path, file], around) {
      const added = await readDefinitions(required(file, 'name the definitions', 'accounts add'));
      await withTenancy(path, 'accounts add', around, async (tenancy) => {
        const { pushed } = await addServices(tenancy, added);
        for (const each of added) around.print(credsLine(tenancy, busName(each)));
        around.print(pushedLine(pushed));
        await addQueues(tenancy, added, around);
      });
    },
  },
  'accounts push': {
    usage: '<folder>',
    meaning: 'gives all accounts to the servers again, such as to servers whose accounts are lost',
    run: ([path], around) =>
      withTenancy(path, 'accounts push', around, async (tenancy) =>
        around.print(pushedLine((await pushAccounts(tenancy)).pushed)),
      ),
  },
  'accounts remove': {
    usage: '<folder> <service>',
    meaning: 'closes the connections of a service (agent_<name>, tool_<name>), and takes its account away',
    async run([path, name], around) {
      const service = required(name, 'name the service', 'accounts remove');
      await withTenancy(path, 'accounts remove', around, async (tenancy) => {
        const services = await tenancy.folder.mesh(tenancy.namespace).services();
        const { pushed } = await removeServices(tenancy, [service]);
        around.print(`${service} has no account any more; ${pushedLine(pushed)}`);
        const manifest = services.find((each) => busName(each) === service);
        if (manifest) await removeTraces(tenancy, manifest, around);
      });
    },
  },
  'accounts rotate': {
    usage: '<folder> <service|--signing-key> [--finish]',
    meaning: 'makes new credentials; --finish ends the old ones when all replicas have the new ones',
    async run([path, ...words], around) {
      const [service, ...more] = words.filter((word) => word !== '--finish');
      const isFinish = words.includes('--finish');
      if (!service || more.length > 0 || (isFinish && service === '--signing-key'))
        throw wrongUsage('name a service, or --signing-key alone', 'accounts rotate');
      await withTenancy(path, 'accounts rotate', around, (tenancy) =>
        service === '--signing-key'
          ? rotateKey(tenancy, around)
          : rotateCredentials(tenancy, service, isFinish, around),
      );
    },
  },
  'accounts list': {
    usage: '<folder>',
    meaning: 'lists the accounts of the mesh with their credentials',
    async run([path], { config, print }) {
      const folder = await openKeyFolder(required(path, 'name the folder of the keys', 'accounts list'));
      const result = await listAccounts(folder, config.namespace);
      if (result.length === 0) print(`there are none in the namespace ${config.namespace}`);
      for (const { service, account, creds, isRotating } of result)
        print([service, account, creds, ...(isRotating ? ['old credentials valid'] : [])].join('  '));
    },
  },
  'rights list': {
    usage: '<definitions> [account]',
    meaning: 'prints who may do what on NATS: the subjects that enter and leave each account',
    async run([file, only], { config, print }) {
      const services = await readDefinitions(required(file, 'name the definitions', 'rights list'));
      const rows = rightsTable(services, config.namespace);
      const names = [...new Set(rows.map(({ account }) => account))];
      if (only !== undefined && !names.includes(only)) throw unknownAccount(only, names);
      const wanted = rows.filter(({ account }) => only === undefined || account === only);
      for (const line of table(
        wanted.map(({ account, verb, subject, others }) => [account, verb, subject, others.join(' ')]),
      ))
        print(line);
    },
  },
};

/** Opens the folder of keys, and a connection to the servers that take accounts. */
async function withTenancy(
  path: string | undefined,
  command: string,
  { config }: Surroundings,
  work: (tenancy: Tenancy) => Promise<void>,
): Promise<void> {
  const folder = await openKeyFolder(required(path, 'name the folder of the keys', command));
  const address = { url: config.natsUrl, credsFile: folder.systemCreds, connectTimeoutMs };
  await using resolver = await openResolver(address);
  await work({ folder, namespace: config.namespace, resolver });
}

async function addQueues(
  tenancy: Tenancy,
  added: readonly ServiceManifest[],
  around: Surroundings,
): Promise<void> {
  try {
    await using queues = await openQueues(provisionerOf(tenancy, around));
    for (const queue of added.flatMap(queuesOf)) await queues.add(queue);
  } catch (thrown) {
    const error = MeshError.from(thrown);
    if (error.code !== 'failed_precondition') throw error;
    around.print('there are no streams yet; run the provisioning step with the credentials of provision');
  }
}

/** Removes the queues and the card of a service. */
async function removeTraces(
  tenancy: Tenancy,
  manifest: ServiceManifest,
  around: Surroundings,
): Promise<void> {
  const { kind, name } = manifest;
  if (kind !== 'agent' && kind !== 'tool') return;
  await using queues = await openQueues(provisionerOf(tenancy, around));
  let waiting = 0;
  for (const queue of queuesOf(manifest)) waiting += await queues.remove(queue);
  if (waiting > 0) around.print(`its queues held ${waiting} messages; see them with orphans list`);
  await using cards = await openCards(provisionerOf(tenancy, around));
  await cards.remove(kind, name).catch((thrown: unknown) => {
    if (MeshError.from(thrown).code !== 'not_found') throw thrown;
  });
}

function queuesOf({ kind, name, longRunning }: ServiceManifest): QueueName[] {
  if (kind === 'agent')
    return [
      { kind: 'run', name },
      { kind: 'operation', name },
    ];
  return longRunning ? [{ kind: 'job', name }] : [];
}

function provisionerOf({ folder, namespace }: Tenancy, { config }: Surroundings) {
  const credsFile = folder.mesh(namespace).creds('provision');
  return { url: config.natsUrl, namespace, credsFile, connectTimeoutMs };
}

async function rotateKey({ folder, resolver }: Tenancy, { print }: Surroundings): Promise<void> {
  const count = await rotateSigningKey(folder, resolver);
  print(`signed and pushed accounts: ${count}`);
  print(`restart the NATS servers one by one with the new ${folder.configuration}: it ends the old key`);
}

async function rotateCredentials(
  tenancy: Tenancy,
  service: string,
  isFinish: boolean,
  { print }: Surroundings,
): Promise<void> {
  if (isFinish) {
    await finishRotation(tenancy, service);
    print(`the old credentials of ${service} are not valid any more`);
    return;
  }
  await beginRotation(tenancy, service);
  print(credsLine(tenancy, service));
  print('give them to its replicas, then end the old ones with --finish');
}

function credsLine({ folder, namespace }: Tenancy, service: string): string {
  return `${service}: its credentials (MESH_NATS_CREDS) are in ${folder.mesh(namespace).creds(service)}`;
}

function pushedLine(pushed: readonly string[]): string {
  return `pushed accounts: ${pushed.length === 0 ? 'none, the servers have them all' : pushed.join(', ')}`;
}

function required(word: string | undefined, problem: string, command: string): string {
  if (word) return word;
  throw wrongUsage(problem, command);
}

function wrongUsage(problem: string, command: string): WrongUsage {
  return new WrongUsage(problem, accountCommands, command);
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
