import { describe } from 'vitest';
import { SmallRedis } from './small-redis.ts';
import { smallRedisConnection } from './small-redis-connection.ts';
import { storeSuites } from './store-suites.fixture.ts';

describe('the store on the small Redis', () => {
  // Redis counts microseconds: two commits of one millisecond have an order.
  const now = () => performance.timeOrigin + performance.now();
  const connection = smallRedisConnection(new SmallRedis({ now }));
  storeSuites(() => connection);
});
