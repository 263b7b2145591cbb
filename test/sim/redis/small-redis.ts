import type { Command, Commands } from './commands/command.ts';
import { hashCommands } from './commands/hash-commands.ts';
import { keyCommands } from './commands/key-commands.ts';
import { serverCommands } from './commands/server-commands.ts';
import { setCommands } from './commands/set-commands.ts';
import { sortedSetCommands } from './commands/sorted-set-commands.ts';
import { streamCommands } from './commands/stream-commands.ts';
import { stringCommands } from './commands/string-commands.ts';
import { Keyspace, type KeyspaceCopy } from './keyspace.ts';
import { type LoadedFunction, luaMachine } from './lua/lua-machine.ts';
import { integerIn } from './numbers.ts';
import { type Bytes, ok, type Reply, ReplyError, wrongNumber } from './reply.ts';

export interface SmallRedisOptions {
  /** The clock of the server, in epoch ms. Nothing else in it depends on time. */
  now(): number;
}

/** All that a server keeps. */
export interface RedisCopy {
  keys: KeyspaceCopy;
  functions: ReadonlyMap<Bytes, LoadedFunction>;
}

/**
 * A Redis in this process, with the commands that the store uses. Scripts are functions of Redis, which run in the Lua
 * of Redis. A call is one synchronous step.
 */
export class SmallRedis {
  readonly #clock: () => number;
  readonly #keys = new Keyspace(() => this.#now);
  #functions = new Map<Bytes, LoadedFunction>();
  /** The time of the current call: no key expires within a script. */
  #now = 0;

  constructor({ now }: SmallRedisOptions) {
    this.#clock = now;
  }

  /** The number of changes so far. */
  get writes(): number {
    return this.#keys.changes;
  }

  /** Carries out a command. @throws ReplyError */
  call(name: string, args: readonly Bytes[] = []): Reply {
    return this.callAt(this.#clock(), name, args);
  }

  /** Carries out a command at a time, in epoch ms. @throws ReplyError */
  callAt(now: number, name: string, args: readonly Bytes[]): Reply {
    this.#now = now;
    return this.#commandOf(name, args).run(this.#keys, args);
  }

  /** Copies all that the server keeps. */
  copy(): RedisCopy {
    return { keys: this.#keys.copy(), functions: new Map(this.#functions) };
  }

  /** Goes back to a copy, as the promotion of a replica does that lacks the later writes. */
  restore({ keys, functions }: RedisCopy): void {
    this.#keys.restore(keys);
    this.#functions = new Map(functions);
  }

  #commandOf(name: string, args: readonly Bytes[]): Command {
    const command = find(commands, name, args) ?? find(this.#own, name, args);
    if (!command) throw unknownCommand(name, args);
    const words = args.length + 1;
    if (command.arity < 0 ? words < -command.arity : words !== command.arity)
      throw wrongNumber(name.toLowerCase());
    return command;
  }

  readonly #own = tableOf({
    fcall: { arity: -3, run: (_, args) => this.#callFunction(args, false) },
    fcall_ro: { arity: -3, run: (_, args) => this.#callFunction(args, true) },
    'function|load': { arity: -3, run: (_, args) => this.#loadFunction(args.at(-1) ?? '') },
    'function|flush': {
      arity: -2,
      run: () => {
        this.#functions.clear();
        this.#keys.changes += 1;
        return ok;
      },
    },
    'function|list': {
      arity: -2,
      run: () => [...this.#functions.keys()].map((name) => ['library_name', name]),
    },
  });

  #loadFunction(source: Bytes): Reply {
    const { name, flags } = luaMachine().load(source);
    if (this.#functions.has(name)) throw new ReplyError(`ERR Library '${name}' already exists`);
    this.#functions.set(name, { name, flags });
    this.#keys.changes += 1;
    return name;
  }

  #callFunction([name = '', count, ...words]: readonly Bytes[], isReading: boolean): Reply {
    const called = this.#functions.get(name);
    if (!called) throw new ReplyError('ERR Function not found');
    const keysCount = integerIn(count, 'Bad number of keys provided');
    if (keysCount > words.length)
      throw new ReplyError("ERR Number of keys can't be greater than number of args");
    const mayWrite = !called.flags.has('no-writes');
    if (isReading && mayWrite)
      throw new ReplyError('ERR Can not execute a script with write flag using *_ro command.');
    return luaMachine().run(name, words.slice(0, keysCount), words.slice(keysCount), (command, args) => {
      const { writes, run } = this.#commandInScript(command, args);
      if (writes && !mayWrite)
        throw new ReplyError('ERR Write commands are not allowed from read-only scripts.');
      return run(this.#keys, args);
    });
  }

  #commandInScript(name: Bytes, args: readonly Bytes[]): Command {
    if (find(this.#own, name, args))
      throw new ReplyError('ERR This Redis command is not allowed from script');
    return this.#commandOf(name, args);
  }
}

const containers = new Set(['function', 'client', 'cluster', 'acl']);
const commands = tableOf({
  ...serverCommands,
  ...keyCommands,
  ...stringCommands,
  ...hashCommands,
  ...setCommands,
  ...sortedSetCommands,
  ...streamCommands,
});

function tableOf(list: Commands): ReadonlyMap<string, Command> {
  return new Map(Object.entries(list));
}

/** Finds a command, or the command that its name and its first word make together. */
function find(
  table: ReadonlyMap<string, Command>,
  name: string,
  args: readonly Bytes[],
): Command | undefined {
  const lower = name.toLowerCase();
  return table.get(containers.has(lower) ? `${lower}|${args[0]?.toLowerCase()}` : lower);
}

function unknownCommand(name: string, args: readonly Bytes[]): ReplyError {
  const beginning = args.map((arg) => `'${arg.slice(0, 128)}' `).join('');
  return new ReplyError(`ERR unknown command '${name}', with args beginning with: ${beginning}`);
}
