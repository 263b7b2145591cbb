import type { FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { personOf } from './person.ts';

const request = (headers: Record<string, string>) => ({ headers }) as unknown as FastifyRequest;
const config = { personHeader: 'x-user', rolesHeader: 'x-roles' };

describe('the person who sends a request', () => {
  it('is the user of the request without roles, whatever headers it has, unless headers are configured', () => {
    const nothing = { personHeader: undefined, rolesHeader: undefined };
    expect(personOf(nothing, request({ 'x-user': 'eve', 'x-roles': 'manager' }), 'ann')).toEqual({
      name: 'ann',
    });
  });

  it('is named by the headers of the proxy', () => {
    const headers = { 'x-user': 'eve', 'x-roles': ' manager , ,clerk' };
    expect(personOf(config, request(headers), 'ann')).toEqual({ name: 'eve', roles: ['manager', 'clerk'] });
    expect(personOf(config, request({ 'x-user': 'eve' }), 'ann')).toEqual({ name: 'eve', roles: [] });
  });

  it('must be named if the header is configured', () => {
    expect(() => personOf(config, request({}), 'ann')).toThrow(/no header x-user/);
    expect(() => personOf(config, request({ 'x-user': ' ' }), 'ann')).toThrow(/no header x-user/);
  });
});
