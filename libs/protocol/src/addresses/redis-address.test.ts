import { describe, expect, it } from 'vitest';
import { parseRedisUrl } from './redis-address.ts';

const local = { host: 'h', port: 6379 };

describe('the url of redis', () => {
  it.each([
    ['redis://h', { kind: 'single', tls: false, hosts: [local], db: 0 }],
    ['redis://h/', { kind: 'single', tls: false, hosts: [local], db: 0 }],
    [
      'redis://:p%40%2F@h:1/3',
      { kind: 'single', tls: false, hosts: [{ host: 'h', port: 1 }], password: 'p@/', db: 3 },
    ],
    [
      'rediss://u:p:q@[::1]:7',
      { kind: 'single', tls: true, hosts: [{ host: '::1', port: 7 }], username: 'u', password: 'p:q', db: 0 },
    ],
    [
      'redis+cluster://u:p@h:6379,i:1',
      {
        kind: 'cluster',
        tls: false,
        hosts: [local, { host: 'i', port: 1 }],
        username: 'u',
        password: 'p',
        db: 0,
      },
    ],
    [
      'rediss+cluster://h,i/0',
      { kind: 'cluster', tls: true, hosts: [local, { host: 'i', port: 6379 }], db: 0 },
    ],
    [
      'redis+sentinel://h,i:1/mymaster',
      {
        kind: 'sentinel',
        tls: false,
        hosts: [
          { host: 'h', port: 26379 },
          { host: 'i', port: 1 },
        ],
        primary: 'mymaster',
        db: 0,
      },
    ],
    [
      'rediss+sentinel://u:p@h/my%20one/2?sentinel-user=s&sentinel-password=t%3D',
      {
        kind: 'sentinel',
        tls: true,
        hosts: [{ host: 'h', port: 26379 }],
        username: 'u',
        password: 'p',
        primary: 'my one',
        db: 2,
        sentinelUsername: 's',
        sentinelPassword: 't=',
      },
    ],
  ])('%s is read', (url, address) => {
    expect(parseRedisUrl(url)).toEqual(address);
  });

  it.each([
    ['', /must look like/],
    ['hunter2', /must look like/],
    ['h:6379', /must look like/],
    ['http://u:hunter2@h', /must look like/],
    ['redis+pool://u:hunter2@h', /must look like/],
    ['redis://u:hun/ter2@h', /must look like|database|host/],
    ['redis://u:hun?ter2@h', /host|must look like|after/],
    ['redis://u:hunter2@', /number 1 is not so/],
    ['redis://u:hunter2@h:0', /number 1 is not so/],
    ['redis+cluster://u:hunter2@h,i:70000', /number 2 is not so/],
    ['redis+cluster://u:hunter2@h,', /number 2 is not so/],
    ['redis://u:hunter2@h,i', /several servers/],
    ['redis://u:hunter2@h/x', /number of a database/],
    ['redis://u:hunter2@h/x/1', /number of a database/],
    ['redis+cluster://u:hunter2@h/1', /a cluster has 0 alone/],
    ['redis://hunter2@h', /without a password/],
    ['redis://u:hunter%2@h', /%25/],
    ['redis+sentinel://u:hunter2@h', /name of the primary/],
    ['redis+sentinel://h/m?sentinel-pasword=hunter2', /nothing else/],
    ['redis+sentinel://h/m?sentinel-user=hunter2', /without sentinel-password/],
    ['redis://h?password=hunter2', /after \?/],
  ])('%s is refused, and no part of it shown', (url, message) => {
    let said = '';
    try {
      parseRedisUrl(url);
    } catch (error) {
      expect(error).toMatchObject({ code: 'invalid_argument' });
      said = String(error);
    }
    expect(said).toMatch(message);
    expect(said).toContain('the url of redis ');
    expect(said).not.toMatch(/hunter|ter2/);
  });
});
