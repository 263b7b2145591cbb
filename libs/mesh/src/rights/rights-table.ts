import { type AccountLink, planAccounts } from './accounts.ts';
import type { ServiceManifest } from './service-manifest.ts';

/** A right of a service: the messages of one subject that may leave or enter its account. */
export interface RightsRow {
  account: string;
  verb: 'sends' | 'answers' | 'tells' | 'hears';
  subject: string;
  /** The accounts at the other end. */
  others: string[];
}

const verbs = {
  service: { to: 'sends', from: 'answers' },
  stream: { to: 'hears', from: 'tells' },
} as const;

/**
 * Returns all rights of all services, in the order of their accounts. `sends` is a request or a message for a
 * stream; `tells` is news. Nothing else enters or leaves an account.
 */
export function rightsTable(services: readonly ServiceManifest[], namespace?: string): RightsRow[] {
  const { accounts, links } = planAccounts(services, namespace);
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
  return accounts.flatMap(({ name }) => [...rows.values()].filter(({ account }) => account === name));
}
