import { expect, it } from 'vitest';
import { assertSessionName } from './session-name.ts';

it.each([
  ['a\u0000b', 'control character'],
  ['a\nb', 'control character'],
  [' a', 'space'],
  ['a ', 'space'],
  ['../a', 'path'],
  ['a/b', 'path'],
  ['a\\b', 'path'],
  ['..', 'path'],
])('a client cannot make the session %j', (id, problem) => {
  expect(() => assertSessionName(id)).toThrow(problem);
});

it.each(['s1', 'my session', 'a.b', 'Müller:42', '...'])('a client can make the session %j', (id) => {
  expect(() => assertSessionName(id)).not.toThrow();
});
