import { expect, it } from 'vitest';
import { keyPatterns } from './key-patterns.ts';

const patterns = keyPatterns();

/** The patterns of one name, by their makers. */
const makers: Record<string, (name: string) => string | string[]> = {
  app: patterns.app,
  index: patterns.index,
  invocations: patterns.invocations,
  callStates: patterns.callStates,
  memory: patterns.memory,
  credentialLists: patterns.credentialLists,
  'credentials of an app': (name) => patterns.credentials(name, 'calendar'),
  'credentials under a key': (name) => patterns.credentials('shop', name),
  signIns: patterns.signIns,
  deadlines: patterns.deadlines,
  calls: patterns.calls,
  own: patterns.own,
};

const wildcards = (made: string | string[]) =>
  [made].flat().map((pattern) => pattern.replaceAll(/[^*?[\]\\]/g, ''));

it.each(Object.entries(makers))('no name opens more keys than another one: %s', (_name, make) => {
  for (const odd of ['*', '**', '?', '[a-z]', '\\', 'a*b', '=2A', '{x}', ':', '* *', 'ü*'])
    expect(wildcards(make(odd)), odd).toEqual(wildcards(make('plain')));
});
