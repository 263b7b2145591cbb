import { describe } from 'vitest';
import { SmallRedis } from './small-redis.ts';
import { smallRedisConnection } from './small-redis-connection.ts';
import { storeSuites } from './store-suites.fixture.ts';

describe('the store on the small Redis', () => {
  const connection = smallRedisConnection(new SmallRedis({ now: Date.now }));
  storeSuites(() => connection);
});
