import { type OperatorOptions, type Orphans, openOrphans } from '@agentmesh/bus';
import { decodeToken, nearest } from '@agentmesh/protocol';

/** Time between two looks at the queues, in ms. */
const lookMs = 5_000;

/** Returns a sentence about messages that no service takes, most often because a name is misspelled. */
export function orphanSentence({ kind, subject, count }: Orphans, known: readonly string[]): string {
  const name = nameIn(subject);
  const what = kind === 'job' ? `tool ${name}` : `agent ${name}`;
  const meant = known.includes(name) ? undefined : nearest(name, known);
  const advice = meant ? `did you mean ${meant}?` : 'start the service';
  return `${count} ${count === 1 ? 'message waits' : 'messages wait'} for ${what}, which no service is; ${advice} (${subject}; agentmesh orphans bury removes them)`;
}

function nameIn(subject: string): string {
  const token = subject.split('.')[3] ?? '';
  try {
    return decodeToken(token);
  } catch {
    return token;
  }
}

export interface OrphanWatch {
  address: OperatorOptions;
  /** Returns the names of the services. */
  known: () => string[];
  say: (text: string) => void;
  signal: AbortSignal;
}

/** Says once for each subject that its messages wait for a service that does not exist. */
export function watchOrphans({ address, known, say, signal }: OrphanWatch): AsyncDisposable {
  const reported = new Set<string>();
  let idle = Promise.resolve();
  const look = async () => {
    await using queues = await openOrphans(address);
    const found = await queues.list();
    for (const each of found) if (!reported.has(each.subject)) say(`warn ${orphanSentence(each, known())}`);
    reported.clear();
    for (const { subject } of found) reported.add(subject);
  };
  const timer = setInterval(() => {
    if (signal.aborted) return;
    // While a server is away, the services report it.
    idle = idle.then(look).catch(() => {});
  }, lookMs);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await idle;
    },
  };
}
