import { every, subjects } from '@agentmesh/protocol';
import type { Export, Import, Account as NatsAccount, OperatorLimits } from '@nats-io/jwt';
import { fromPublic, newScopedSigner } from '@nats-io/jwt';
import { keeperService } from '../mesh/service-name.ts';
import { type Account, type AccountLink, type AccountPlan, covers } from '../rights/accounts.ts';

/** The public keys of an account. */
export interface PublicKeys {
  /** The identity of the account, which never changes. */
  account: string;
  /** The keys that may sign its users. Two while the credentials of a service change. */
  signing: readonly string[];
}

/** No limit in a claim of NATS; without it the limit is 0. */
const unlimited = -1;
/** Links have no names: the account of the gateway must fit into a message. */
const unnamed = '';
const limits: OperatorLimits = {
  ...{ subs: unlimited, data: unlimited, payload: unlimited, conn: unlimited },
  ...{ imports: unlimited, exports: unlimited, wildcards: true, leaf: 0 },
};
const jetStreamLimits: OperatorLimits = {
  ...{ mem_storage: unlimited, disk_storage: unlimited, streams: unlimited, consumer: unlimited },
  max_ack_pending: unlimited,
};

/** Returns the claims of the system account, in which the servers take accounts. */
export function systemClaims({ signing }: PublicKeys): Partial<NatsAccount> {
  return { limits, signing_keys: [...signing] };
}

/**
 * Returns the claims of an account that was removed: no key may sign its users. The servers keep it. They
 * would take a deleted account back from a server that was off at the time of the deletion.
 */
export function removedClaims(): Partial<NatsAccount> {
  return { limits: { ...limits, conn: 0 }, signing_keys: [] };
}

/**
 * Returns the claims of an account of the plan: the links of the file form, and the permissions of its users
 * as the scope of the keys that sign them.
 *
 * An export names no importers. The import is the gate: only the operator signs accounts, so nobody else can
 * add one. A token for each import would make accounts several times larger.
 */
export function accountClaims(
  account: Account,
  plan: AccountPlan,
  keys: PublicKeys,
  identityOf: (account: string) => string,
  namespace?: string,
): Partial<NatsAccount> {
  const { name, permissions, maxConnections = unlimited } = account;
  const isJetStream = name === plan.jetStream;
  const isOfMany = isJetStream || account.service === keeperService;
  const { publish, subscribe } = permissions ?? { publish: ['>'], subscribe: ['>'] };
  const scope = { pub: { allow: publish }, sub: { allow: subscribe } };
  const exported = plan.links.filter(({ from }) => from === name);
  const imported = plan.links.filter(({ to }) => to === name);
  return {
    limits: { ...limits, conn: maxConnections, ...(isJetStream && jetStreamLimits) },
    signing_keys: keys.signing.map((key) => newScopedSigner(fromPublic(key), account.service, scope)),
    exports: exportsOf(isOfMany ? exported.map((link) => widened(link, namespace)) : exported),
    imports: imported.map((link) => importOf(link, identityOf(link.from))),
  };
}

/**
 * Replaces the subject of one service by the subjects of all services. The exports of JetStream and of keepers then stay as
 * they are when services come and go; the servers would otherwise check the imports of all accounts again.
 */
function widened(link: AccountLink, namespace?: string): AccountLink {
  if (link.kind === 'stream') return link;
  const names = subjects(namespace);
  const all = [
    '$JS.API.STREAM.>',
    '$JS.API.CONSUMER.INFO.>',
    '$JS.API.CONSUMER.MSG.NEXT.>',
    '$JS.ACK.>',
    '$KV.>',
    '$O.>',
    ...[names.agentRun(every, every), names.operation(every, every, every), names.toolJob(every)],
    names.audit(every),
    names.keeper(every),
    ...(['agent', 'tool'] as const).map((kind) => names.dead(kind, every)),
  ];
  return { ...link, subject: all.find((pattern) => covers(pattern, link.subject)) ?? link.subject };
}

function exportsOf(links: readonly AccountLink[]): Export[] {
  const bySubject = Map.groupBy(links, ({ kind, subject }) => `${kind} ${subject}`);
  return [...bySubject.values()].map((same) => {
    const [{ kind, subject } = { kind: 'service' as const, subject: '' }] = same;
    const hasMany = same.some(({ hasManyAnswers }) => hasManyAnswers);
    const within = same.find(({ answersWithin }) => answersWithin)?.answersWithin;
    return {
      ...{ name: unnamed, subject, type: kind },
      ...(kind === 'service' && { response_type: hasMany ? ('Stream' as const) : ('Singleton' as const) }),
      ...(within !== undefined && { response_threshold: nanosecondsOf(within) }),
    };
  });
}

function importOf({ kind, subject }: AccountLink, account: string): Import {
  return { name: unnamed, subject, type: kind, account };
}

/** Returns a time such as `24h` in nanoseconds. */
function nanosecondsOf(hours: string): number {
  return Number(hours.replace(/h$/, '')) * 3_600 * 1_000_000_000;
}
