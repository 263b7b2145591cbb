import type { Random } from '@agentmesh/testing';
import { allScripts, scriptModules, scriptsIn } from '../../../libs/store/src/functions.ts';
import type { NamedScript } from '../../../libs/store/src/scripts/define-script.ts';
import type { Script } from '../../../libs/store/src/scripts/script.ts';
import type { Bytes } from './reply.ts';
import { scriptNameOf } from './script-names.ts';

type AnyScript = Script & Partial<NamedScript<string, string, string>>;
type Make = (random: Random) => string;

const oneOf =
  (...words: string[]): Make =>
  (random) =>
    random.pick(words);
const duration = oneOf('60000', '90000', '3600000');
const recent: Make = (random) => String(Date.now() - random.integer(0, 1_000));
const end = oneOf(
  '{"status":"completed"}',
  '{"status":"failed","error":{"code":"a/b","message":"é\\u00e9","details":{"n":[]}}}',
);

/** Values by the names of arguments: most calls mean the same session, invocation and run. */
const valuesOf: Record<string, Make> = {
  ...{ runningMs: duration, endedMs: duration, leaseMs: duration, waitingMs: duration, keptMs: duration },
  ...{ windowMs: duration, ttlMs: duration, now: recent, timestamp: recent, time: recent },
  ...{
    id: oneOf('s', 's', 's', 't'),
    sessionToken: oneOf('s', 's', 's', 't'),
    nonce: oneOf('n1', 'n1', 'n2'),
  },
  ...{ run: oneOf('i', 'i', 'r'), invocationId: oneOf('i', 'i', 'r'), resume: oneOf('', '', '', 'r') },
  ...{
    fencingToken: oneOf('', '', '1', '2', '9'),
    incarnation: oneOf('', 'n1'),
    hidden: oneOf('0', '0', '1'),
  },
  ...{
    part: oneOf('', '', 'p'),
    attempt: oneOf('', '1'),
    delivery: oneOf('', 'd1', 'd2'),
    message: oneOf('', 'm'),
  },
  ...{
    place: oneOf('', '', '1', '2'),
    earlier: oneOf('', '', '1'),
    most: oneOf('', '5', '1', '0'),
    skip: oneOf('0', '1'),
  },
  ...{
    mostQueued: oneOf('', '3'),
    refusal: end,
    rejection: oneOf('', '{"status":"failed"}'),
    onlyWaits: oneOf('0', '0', '1'),
  },
  ...{
    onlyNew: oneOf('0', '0', '1'),
    untaken: oneOf('0', '1'),
    only: oneOf('', 'i', 'r'),
    prefix: oneOf('i', 'r', ''),
  },
  ...{
    whenBusy: oneOf('enqueue', 'enqueue', 'reject', 'interrupt'),
    knownSeq: oneOf('0', '0', '1'),
    ttl: oneOf('', '', '90000'),
  },
  ...{
    whileOpen: oneOf('', '', 'a'),
    through: oneOf('', '', 'rewound', '1'),
    agent: oneOf('', 'a'),
    aside: oneOf('0', '0', '1'),
  },
  ...{
    calls: oneOf('0', '1'),
    modelTokens: oneOf('0', '7'),
    tokens: oneOf('0', '50', '200'),
    step: oneOf('0.001', '0.5'),
  },
  ...{
    endJson: (random) => (random.chance(0.8) ? '' : end(random)),
    endRun: oneOf('i', 'r'),
    endResume: oneOf('', '', 'r'),
  },
  ...{
    eventId: (random) => `e${random.integer(1, 40)}`,
    event: (random) => JSON.stringify({ text: 'y'.repeat(random.integer(0, 50)) }),
  },
  ...{
    initial: oneOf('{}', '{"a":1}'),
    after: oneOf('0', '1', '2', '5'),
    count: oneOf('0', '1', '5'),
    limit: oneOf('1', '5'),
  },
  ...{
    known: oneOf('0', '1'),
    last: oneOf('', '1', '3'),
    fromSeq: oneOf('', '1'),
    digest: oneOf('', 'a'),
    holder: oneOf('h', 'g'),
  },
  ...{
    refused: oneOf('0', '0', '1'),
    refresh: oneOf('0', '1'),
    mark: recent,
    invocation: oneOf('i', 'j'),
    isOver: oneOf('0', '1'),
  },
};
const anyWord = oneOf('', '', '0', '1', '1', '2', '3', 'a', 'b', 's', 'h', 'n1');

const listsOf: Record<string, Make[]> = {
  quotas: [oneOf('1', '2', '3'), oneOf('runs:minute:', 'tokens:day:'), duration, oneOf('1', '5', '100')],
  windows: [oneOf('tokens:minute:', 'tokens:day:'), duration],
  closed: [oneOf('a', 's:a'), oneOf('a:a', 'a:b'), oneOf('user x', 'agent y')],
};

const frequent = allScripts.filter(({ name }) =>
  ['createScript', 'takeScript', 'commitScript', 'takeAndCommitScript', 'renewScript'].includes(
    scriptNameOf(name),
  ),
);

/** Returns a call of a script with keys that other scripts use too. */
export function randomScriptCall(random: Random): [name: string, args: Bytes[]] {
  const script: AnyScript = random.pick(random.chance(0.4) ? frequent : allScripts);
  // Deletions would else leave little for the others.
  if (script.effect === 'frees' && random.chance(0.5)) return randomScriptCall(random);
  const [keys, args] =
    script.keys || script.source.includes('function first(')
      ? namedValues(script, random)
      : otherValues(script, random);
  const name = script.effect === 'reads' ? 'FCALL_RO' : 'FCALL';
  const all = [script.name, String(keys.length), ...keys, ...args];
  return [name, all.map((arg) => Buffer.from(arg, 'utf8').toString('latin1'))];
}

/** Reads the names from the declarations, in their order: two scripts in a chain have their arguments one after the other. */
function namedValues({ source }: AnyScript, random: Random): [string[], string[]] {
  const camel = (name: string) => name.replace(/_[a-z]/g, (part) => part.slice(1).toUpperCase());
  const named = (pattern: RegExp) => [...source.matchAll(pattern)].map(([, name = '']) => camel(name));
  const parts = source.split('local function second(');
  const keys = [...(parts.at(-1) ?? '').matchAll(/^local (\w+) = KEYS\[\d+\]$/gm)].map(([, name = '']) =>
    camel(name),
  );
  const values = named(/^local (\w+) = ARGV\[\d+\]$/gm).map((name) => (valuesOf[name] ?? anyWord)(random));
  const lists = named(/^local (\w+) = read_list\(\)$/gm).flatMap((name) => {
    const item = listsOf[name] ?? [anyWord, anyWord];
    const list = Array.from({ length: random.pick([0, 0, 1, 2]) }, () =>
      item.map((make) => make(random)),
    ).flat();
    return [String(list.length), ...list];
  });
  return [
    keys.map(
      (name) =>
        `am:{t}:${name}:${random.chance(0.85) ? 1 : random.integer(2, name === 'invocation' ? 9 : 2)}`,
    ),
    [...values, ...lists],
  ];
}

/** Keys by their positions, which the scripts of one module share. */
function otherValues({ source, name }: AnyScript, random: Random): [string[], string[]] {
  const most = (pattern: RegExp) =>
    Math.max(1, ...[...source.matchAll(pattern)].map(([, position]) => Number(position)));
  const keys = most(/KEYS\[(\d+)\]/g) + (source.includes('#KEYS') ? random.integer(1, 2) : 0);
  const args = most(/ARGV\[(\d+)\]/g) + (source.includes('#ARGV') ? random.integer(0, 6) : 0);
  // A time to live of few ms would pass on one server only.
  const times = new Set(
    [...source.matchAll(/^.*(?:PEXPIRE|'PX|note_k).*$/gm)].flatMap(
      ([line]) => line.match(/(?<=ARGV\[)\d+/g) ?? [],
    ),
  );
  const values = Array.from({ length: args }, (_, at) =>
    times.has(String(at + 1)) ? random.pick(['', '60000', '90000']) : anyWord(random),
  );
  const module = scriptModules.findIndex((each) => scriptsIn([each]).some((script) => script.name === name));
  return [
    Array.from({ length: keys }, (_, at) => `am:{t}:${module}-${at}:${random.chance(0.85) ? 1 : 2}`),
    source.includes('cjson.decode(ARGV[1])') ? [memoryBatch(random, keys), ...values.slice(1)] : values,
  ];
}

/** Returns the argument of the scripts of memories. */
function memoryBatch(random: Random, keys: number): string {
  const key = () => random.integer(1, keys);
  const memories = Array.from({ length: random.integer(0, 3) }, () => ({
    ...{ session: key(), member: anyWord(random), number: random.integer(1, 5), entry: 'é"/', terms: 'a b' },
    postings: [],
  }));
  return JSON.stringify({
    ...{ memories, words: [[key()]], limit: 3, width: 5, embed: random.chance(0.5) },
    ...(random.chance(0.3) && { mark: { field: 'm', from: '', to: 'x' }, unmark: { field: 'm' } }),
    ...(random.chance(0.3) && { ttl: 90_000 }),
  });
}
