import { describe, expect, it } from 'vitest';
import { hasRoleAnywhere } from './caller.ts';

describe('a role in any app', () => {
  it.each([
    ['operator', true],
    ['admin', true],
    ['shop:operator', true],
    ['*:operator', true],
    ['user', false],
    ['shop:user', false],
    // Roles of other systems.
    ['urn:corp:operator', false],
    ['shop:x:operator', false],
  ])('%s opens a route for operators: %s', (role, opens) => {
    expect(hasRoleAnywhere({ via: 'oidc', roles: [role] }, 'operator')).toBe(opens);
  });
});
