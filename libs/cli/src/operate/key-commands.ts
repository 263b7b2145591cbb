import { randomUUID } from 'node:crypto';
import { roles } from '@agentmesh/gateway/roles';
import { audit, type ConnectedMesh } from '@agentmesh/mesh';
import { MeshError, meshTime } from '@agentmesh/protocol';
import { type Commands, listReport } from '../command/command.ts';
import type { Options } from '../command/options.ts';
import { Misuse } from '../command/program.ts';
import { withMesh } from '../context/surroundings.ts';

const unitsMs = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The commands for the API keys of the gateways, by their words. */
export const keyCommands: Commands = {
  'keys create': {
    usage: '<name>',
    meaning: 'makes an API key for callers of the gateway, and prints it once (docs/access.md)',
    options: [
      {
        flags: '--role <role>',
        meaning:
          'a role of its callers: user (the default), approver, operator, admin; for one app with the app in front: shop:operator',
        isList: true,
      },
      {
        flags: '--user <user>',
        meaning: 'the only user for whom its callers act; a key without operator needs one',
      },
      { flags: '--expires <time>', meaning: 'the time until it ends: 90d, 12h or 30m; default never' },
    ],
    async run([name = ''], around, options) {
      const wanted = readKey(name, options);
      return await withMesh(around, async (mesh) => {
        const key = await keysOf(mesh).create(wanted);
        await record(mesh, `create ${wanted.name}`);
        return { lines: [key], json: { ...wanted, key } };
      });
    },
  },
  'keys list': {
    usage: '',
    meaning: 'lists the API keys with their roles, users, ends and last uses',
    run: (_, around) =>
      withMesh(around, async (mesh) =>
        listReport(await keysOf(mesh).list(), ({ name, roles, user, expiresAt, usedAt }) =>
          [
            name,
            roles.join(','),
            user === undefined ? 'no user' : `user ${user}`,
            endOf(expiresAt),
            usedAt === undefined ? 'never used' : `used ${timeOf(usedAt)}`,
          ].join('  '),
        ),
      ),
  },
  'keys revoke': {
    usage: '<name>',
    meaning: 'ends an API key at once, at every gateway',
    run: ([name = ''], around) =>
      withMesh(around, async (mesh) => {
        if (!(await keysOf(mesh).revoke(name)))
          throw new MeshError('not_found', `there is no key ${name}; keys list shows all`);
        await record(mesh, `revoke ${name}`);
        return { lines: [`key ${name} is gone`], json: { revoked: name } };
      }),
  },
};

/** Records a change of the keys for the operator. */
async function record(mesh: ConnectedMesh, key: string): Promise<void> {
  await audit(mesh, `key/${randomUUID()}`, { decision: 'accepted', action: 'key', key });
}

type ApiKeys = NonNullable<ConnectedMesh['apiKeys']>;
type NewApiKey = Parameters<ApiKeys['create']>[0];

function keysOf({ apiKeys }: ConnectedMesh): ApiKeys {
  if (apiKeys) return apiKeys;
  throw new MeshError('failed_precondition', 'this mesh has no Redis, which keeps API keys');
}

/** Reads the description of a new key. @throws Misuse */
function readKey(name: string, options: Options): NewApiKey {
  const given = options.list('role');
  const wanted = given.length === 0 ? ['user'] : given;
  for (const role of wanted) assertRoleName(role);
  assertUsable(wanted);
  const [user, expires] = [options.text('user'), options.text('expires')];
  if (user === undefined && !wanted.some((role) => /^(?:.*:)?(?:operator|admin)$/.test(role)))
    throw new Misuse('a key without the role operator acts for one user; name this user with --user');
  return {
    ...{ name: nameOf(name), roles: wanted },
    ...(user !== undefined && { user }),
    ...(expires !== undefined && { expiresAt: meshTime() + durationOf(expires) }),
  };
}

/** @throws Misuse */
function nameOf(name: string): string {
  if (/^[\w.@-]{1,64}$/.test(name)) return name;
  throw new Misuse(
    `the name of a key has 1 to 64 letters, digits and . _ - @; it is ${JSON.stringify(name)}`,
  );
}

/** @throws Misuse */
function assertRoleName(role: string): void {
  if (/^[^\s,]{1,256}$/.test(role) && !role.endsWith(':')) return;
  throw new Misuse(
    `a role is such as operator or shop:operator, without spaces; it is ${JSON.stringify(role)}`,
  );
}

/** Checks that one of the roles opens a route: a role of one's own opens none. @throws Misuse */
function assertUsable(given: readonly string[]): void {
  if (given.some(isRoleOfGateway)) return;
  throw new Misuse(
    `a key with no role but ${given.join(', ')} may do nothing: roles are ${roles.join(', ')}, for one app with the app in front (shop:user). A role of your own, for confirmableBy, comes beside one of them: --role user --role ${given[0]}`,
  );
}

function isRoleOfGateway(role: string): boolean {
  return (roles as readonly string[]).includes(role.slice(role.indexOf(':') + 1));
}

/** Reads a duration in ms. @throws Misuse */
function durationOf(text: string): number {
  const [, number, unit] = /^([1-9]\d{0,5})([mhd])$/.exec(text) ?? [];
  if (unit !== undefined) return Number(number) * unitsMs[unit as keyof typeof unitsMs];
  throw new Misuse(`--expires is such as 90d, 12h or 30m; it is ${JSON.stringify(text)}`);
}

function endOf(expiresAt: number | undefined): string {
  if (expiresAt === undefined) return 'never expires';
  return `${expiresAt <= meshTime() ? 'expired' : 'expires'} ${timeOf(expiresAt)}`;
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
