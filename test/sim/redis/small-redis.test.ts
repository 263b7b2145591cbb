import { describe, expect, it } from 'vitest';
import { commandsOf, type StorePart } from '../../../libs/store/src/commands.ts';
import { isMissingFunction, isReply } from '../../../libs/store/src/connection/redis-errors.ts';
import { libraryOf, script } from '../../../libs/store/src/scripts/script.ts';
import { commandArgs } from './random-command.fixture.ts';
import { type Reply, ReplyError } from './reply.ts';
import { SmallRedis } from './small-redis.ts';

const parts: StorePart[] = [
  ...(['connection', 'functions', 'api-keys', 'callers', 'limits', 'operator', 'calls', 'records'] as const),
  ...(['work', 'credentials', 'data-keys', 'memory', 'sessions'] as const),
];

/** Makes a server whose clock stands until it is set. */
function stopped() {
  const clock = { ms: 1_000_000 };
  const server = new SmallRedis({ now: () => clock.ms });
  const call = (name: string, ...args: string[]) => server.call(name, args);
  /** Runs Lua as a function of Redis. */
  const run = (source: string, args: string[] = [], effect: 'reads' | 'writes' = 'writes'): Reply => {
    const made = script(source, effect);
    if (!(call('FUNCTION', 'LIST') as string[][]).some(([, name]) => name === made.name))
      call('FUNCTION', 'LOAD', libraryOf(made));
    return call(effect === 'reads' ? 'FCALL_RO' : 'FCALL', made.name, '1', 'k', ...args);
  };
  return { clock, server, call, run };
}

const thrown = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

describe('the commands of the store', () => {
  it.each(commandsOf(parts))('%s is there', (name) => {
    const [command = '', ...words] = name.split('|');
    expect(thrown(() => stopped().call(command, ...words))).not.toMatchObject({
      message: expect.stringContaining('unknown command'),
    });
  });

  it('are compared with a real Redis, except those that need no keys', () => {
    const others =
      'acl|log asking client|setname cluster|slots fcall fcall_ro function|load info ping readonly readwrite scan select time wait';
    expect(commandsOf(parts).filter((name) => !Object.hasOwn(commandArgs, name))).toEqual(others.split(' '));
  });

  it('are all that there are', () => {
    const { call } = stopped();
    expect(() => call('LPUSH', 'k', 'v')).toThrow("ERR unknown command 'LPUSH'");
    expect(() => call('constructor')).toThrow('ERR unknown command');
    expect(() => call('GET')).toThrow("ERR wrong number of arguments for 'get' command");
  });
});

describe('a key', () => {
  it('is gone when its time has come, by the clock of the server', () => {
    const { call, clock } = stopped();
    call('SET', 'k', 'v', 'PX', '100');
    clock.ms += 99;
    expect([call('GET', 'k'), call('PTTL', 'k')]).toEqual(['v', 1]);
    clock.ms += 1;
    expect([call('GET', 'k'), call('PTTL', 'k'), call('EXISTS', 'k')]).toEqual([null, -2, 0]);
  });

  it('stays to the end of a script, whose time stands', () => {
    const clock = { ms: 1_000_000 };
    const server = new SmallRedis({
      now() {
        clock.ms += 1;
        return clock.ms;
      },
    });
    const looks = script("return { redis.call('PTTL', KEYS[1]), redis.call('TIME') }", 'reads');
    server.call('FUNCTION', ['LOAD', libraryOf(looks)]);
    server.call('SET', ['k', 'v', 'PX', '2']);
    expect(server.call('FCALL_RO', [looks.name, '1', 'k'])).toEqual([1, ['1000', '3000']]);
    expect(server.call('FCALL_RO', [looks.name, '1', 'k'])).toEqual([-2, ['1000', '4000']]);
  });

  it('of another kind is refused as by Redis', () => {
    const { call } = stopped();
    call('SET', 'k', 'v');
    const error = thrown(() => call('HGET', 'k', 'f'));
    expect(isReply(error)).toBe(true);
    expect(error).toMatchObject({ message: expect.stringMatching(/^WRONGTYPE /) });
  });
});

describe('a script', () => {
  it('that Redis does not have is known as missing', () => {
    expect(isMissingFunction(thrown(() => stopped().call('FCALL', 'f', '0')))).toBe(true);
  });

  it('is loaded once', () => {
    const { call } = stopped();
    const library = libraryOf(script('return 1'));
    call('FUNCTION', 'LOAD', library);
    expect(() => call('FUNCTION', 'LOAD', library)).toThrow('already exists');
    call('FUNCTION', 'FLUSH');
    call('FUNCTION', 'LOAD', library);
  });

  it('that only reads may not write, and one that writes is not called for reading', () => {
    const { call, run } = stopped();
    expect(() => run("return redis.call('SET', KEYS[1], 1)", [], 'reads')).toThrow('Write commands');
    const writes = script('return 1');
    call('FUNCTION', 'LOAD', libraryOf(writes));
    expect(() => call('FCALL_RO', writes.name, '0')).toThrow('*_ro command');
  });

  it('keeps what it wrote before it failed', () => {
    const { call, run } = stopped();
    expect(() => run("redis.call('SET', KEYS[1], 1) error('no')")).toThrow('no');
    expect(call('GET', 'k')).toBe('1');
  });

  it.each<[lua: string, reply: Reply]>([
    ['return 3.99', 3],
    ['return -3.99', -3],
    ['return { 1, 2, nil, 4 }', [1, 2]],
    ['return { true, false, "" }', [1, null, '']],
    ['return {}', []],
    ['return tostring(1700000000000 + 1)', '1700000000001'],
    ['return tostring(2 ^ 53)', '9.007199254741e+15'],
    ['return string.format("%d %5d|%-5d|%s%%", 1700000000000.9, 42, 7, "x")', '1700000000000    42|7    |x%'],
    ['return { #ARGV, table.getn({ 1, 2 }), select("#", unpack({ 1, 2, 3 })) }', [2, 2, 3]],
    ['return ARGV[1] .. "\\0" .. #ARGV[2]', 'a\0b\x003'],
    ['return redis.sha1hex("")', 'da39a3ee5e6b4b0d3255bfef95601890afd80709'],
    ['return type(redis.pcall("HGET", "k"))', 'table'],
    ['return redis.pcall("SET", KEYS[1], 0.1) and redis.call("GET", KEYS[1])', '0.10000000000000001'],
    ['return cjson.encode(cjson.decode("{\\"a\\":[],\\"b\\":null}").b)', 'null'],
    ['return cjson.encode({ {}, "a/\\"\\1", 1.5, true, cjson.null })', '[{},"a\\/\\"\\u0001",1.5,true,null]'],
    ['return cjson.decode("[\\"\\\\u00e9\\\\ud83e\\\\udd8a\\"]")[1]', Buffer.from('é🦊').toString('latin1')],
  ])('has the values of Redis: %s', (lua, reply) => {
    expect(stopped().run(lua, ['a\0b', '\0\0\0'])).toEqual(reply);
  });

  it.each([
    ['return unknown', "nonexistent global variable 'unknown'"],
    ['unknown = 1', 'Attempt to modify a readonly table'],
    ['return redis.call("SET", KEYS[1], {})', 'arguments must be strings or integers'],
    ['return redis.call("FCALL", "f", 0)', 'not allowed from script'],
    ['return redis.error_reply("MINE it failed")', 'it failed'],
    ['return cjson.encode({ [100] = 1 })', 'excessively sparse'],
  ])('has the errors of Redis: %s', (lua, message) => {
    expect(() => stopped().run(lua)).toThrow(message);
  });

  it('takes and returns more values than the stack of Lua has room for', () => {
    const { call, run } = stopped();
    call('HSET', 'k', ...Array.from({ length: 20_000 }, (_, at) => String(at)));
    const long = 'x'.repeat(2_000_000);
    const [all, size] = run("return { redis.call('HGETALL', KEYS[1]), #ARGV[1] }", [long]) as [
      Reply[],
      number,
    ];
    expect([all.length, all.at(-1), size]).toEqual([20_000, '19999', 2_000_000]);
  });
});

describe('a copy', () => {
  it('has all values, and is not changed by later writes', () => {
    const { call, server, run } = stopped();
    call('HSET', 'h', 'a', '1');
    call('ZADD', 'z', '2', 'b');
    call('SADD', 't', 'c');
    call('XADD', 'x', '0-1', 'd', '4');
    call('SET', 's', 'e', 'PX', '100');
    const copy = server.copy();
    const read = () => [
      ...[call('HGETALL', 'h'), call('ZRANGE', 'z', '0', '-1', 'WITHSCORES'), call('SMEMBERS', 't')],
      ...[call('XRANGE', 'x', '-', '+'), call('GET', 's'), call('PTTL', 's')],
    ];
    const before = read();
    call('HSET', 'h', 'a', '2');
    call('ZADD', 'z', '3', 'b');
    call('SADD', 't', 'd');
    call('XADD', 'x', '0-2', 'd', '4');
    call('DEL', 's');
    run("return redis.call('SET', KEYS[1], 'v')");
    server.restore(copy);
    expect(read()).toEqual(before);
    expect(call('FUNCTION', 'LIST')).toEqual([]);
  });
});

it('throws the errors of its own code as they are', () => {
  expect(thrown(() => stopped().call('GET'))).toBeInstanceOf(ReplyError);
  const broken = new SmallRedis({
    now() {
      throw new TypeError('no clock');
    },
  });
  expect(() => broken.call('PING')).toThrow(TypeError);
});
