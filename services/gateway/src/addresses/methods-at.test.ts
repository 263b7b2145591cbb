import { expect, it } from 'vitest';
import { methodsAt } from './methods-at.ts';

const methods = methodsAt([
  { method: 'GET', url: '/' },
  { method: 'GET', url: '/apps/:app/files' },
  { method: 'POST', url: '/apps/:app/files' },
  { method: 'DELETE', url: '/apps/:app/files/*' },
  { method: 'POST', url: '/run.now' },
]);

it.each([
  ['/', ['GET', 'HEAD']],
  ['/apps/a/files', ['GET', 'HEAD', 'POST']],
  ['/apps/a/files/', ['GET', 'HEAD', 'POST']],
  ['/apps/a%2Fb/files/c/d', ['DELETE']],
  ['/apps/a/b/files', []],
  ['/run.now', ['POST']],
  ['/runxnow', []],
])('the methods at %s are %j', (path, expected) => {
  expect(methods(path)).toEqual(expected);
});
