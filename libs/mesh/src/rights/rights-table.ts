import { type AccountLink, natsUserOf, planAccounts, provisionUser } from './accounts.ts';
import { type RedisUser, redisUsers } from './redis-users.ts';
import type { ServiceManifest } from './service-manifest.ts';

/**
 * A right of a service: the messages of one subject that may leave or enter its account, the keys of one pattern
 * in Redis, or one command of Redis.
 */
export interface RightsRow {
  account: string;
  verb: 'sends' | 'answers' | 'tells' | 'hears' | 'uses' | 'reads' | 'writes' | 'commands';
  /** A subject of NATS, a pattern of keys, or the names of commands with a space between. */
  subject: string;
  /** The accounts at the other end; `redis` for keys and commands. */
  others: string[];
}

const verbs = {
  service: { to: 'sends', from: 'answers' },
  stream: { to: 'hears', from: 'tells' },
} as const;

/** The ways to use keys of Redis, by the beginnings of the patterns in access rules. */
const keyVerbs = [
  ['%R~', 'reads'],
  ['%W~', 'writes'],
  ['~', 'uses'],
] as const;

/**
 * Returns all rights of all services, in the order of their accounts. `sends` is a request or a message for a
 * stream; `tells` is news. Nothing else enters or leaves an account. Behind these rows come the keys and commands
 * of Redis, where the service has a user there: `uses` is to read and to write.
 *
 * @param redisPrefix the first part of all keys; default `am`
 */
export function rightsTable(
  services: readonly ServiceManifest[],
  namespace?: string,
  redisPrefix?: string,
): RightsRow[] {
  const { accounts, links, jetStream } = planAccounts(services, namespace);
  const rows = new Map<string, RightsRow>();
  const add = ({ kind, subject }: AccountLink, end: 'to' | 'from', account: string, other: string) => {
    const verb = verbs[kind][end];
    const key = `${account} ${verb} ${subject}`;
    const row = rows.get(key) ?? { account, verb, subject, others: [] };
    row.others.push(other);
    rows.set(key, row);
  };
  for (const link of links) {
    add(link, 'to', link.to, link.from);
    add(link, 'from', link.from, link.to);
  }
  const inRedis = redisUsers({ services, ...(redisPrefix !== undefined && { prefix: redisPrefix }) }).flatMap(
    (user) => redisRows(user.name === provisionUser ? jetStream : natsUserOf(user.name, namespace), user),
  );
  const all = [...rows.values(), ...inRedis];
  return accounts.flatMap(({ name }) => all.filter(({ account }) => account === name));
}

function redisRows(account: string, { patterns, commands }: RedisUser): RightsRow[] {
  const others = ['redis'];
  const keys = patterns.flatMap((pattern) => {
    const [start, verb] = keyVerbs.find(([each]) => pattern.startsWith(each)) ?? [];
    return start === undefined ? [] : { account, verb, subject: pattern.slice(start.length), others };
  });
  return [...keys, { account, verb: 'commands', subject: commands.join(' '), others }];
}
