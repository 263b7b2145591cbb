import { createHash } from 'node:crypto';
import { type Bytes, type Reply, ReplyError } from '../reply.ts';
import { LuaState, mostPushed } from './lua-library.ts';
import { type Described, describeJson, describeReply, replyOf } from './lua-values.ts';
import { prelude } from './prelude.ts';

/** A function of a library. */
export interface LoadedFunction {
  name: Bytes;
  flags: ReadonlySet<string>;
}

/** Carries out a command of a script. @throws ReplyError, which `redis.pcall` returns to the script */
export type CarryOut = (command: Bytes, args: Bytes[]) => Reply;

/** The places of the functions of the prelude on the stack of Lua. */
const places = { collect: 1, load: 2, start: 3, resume: 4 };
const bottom = Object.keys(places).length;

/**
 * Runs functions of Redis in Lua. Compiled functions have no state, so all servers of a process use the same ones: a
 * new server costs no compilation.
 */
class LuaMachine {
  readonly #lua = new LuaState();
  readonly #loaded = new Map<Bytes, LoadedFunction>();

  constructor() {
    this.#lua.pushFunction(prelude);
    this.#lua.call(0);
  }

  /** Loads a library with one function. @throws ReplyError */
  load(source: Bytes): LoadedFunction {
    const known = this.#loaded.get(source);
    if (known) return known;
    // The first line names the language; the number of each other line stays.
    const [state, name = '', flags = ''] = this.#call('load', [source.replace(/^#!.*/, '')]);
    if (state !== 'done') throw new ReplyError(`ERR Error compiling function: ${name}`);
    if (name === '') throw new ReplyError('ERR No functions registered');
    const loaded = { name, flags: new Set(flags.split(' ')) };
    this.#loaded.set(source, loaded);
    return loaded;
  }

  /** Calls a function. @throws ReplyError */
  run(name: Bytes, keys: readonly Bytes[], args: readonly Bytes[], carryOut: CarryOut): Reply {
    this.#collect(keys);
    this.#collect(args);
    let answer = this.#call('start', [name, String(keys.length)]);
    while (answer[0] === 'ask') {
      const [, kind = '', ...words] = answer;
      answer = this.#reply(() => respond(kind, words, carryOut));
    }
    const [state, shape = '', body = ''] = answer;
    if (state === 'done') return replyOf(shape, body);
    throw new ReplyError(/^[A-Z]+ /.test(shape) ? shape : `ERR ${shape}`);
  }

  /** Goes on with the reply to a request of the script, or with its error. */
  #reply(find: () => Reply | Described): Bytes[] {
    let reply: Reply | Described;
    try {
      reply = find();
    } catch (error) {
      if (error instanceof ReplyError) return this.#call('resume', ['e', error.message]);
      throw error;
    }
    if (typeof reply === 'string') return this.#call('resume', ['s', reply]);
    if (typeof reply === 'number') return this.#call('resume', ['i', String(reply)]);
    if (reply === null) return this.#call('resume', ['n']);
    if (isFlat(reply)) {
      const short = reply.length < mostPushed ? reply : [];
      if (short !== reply) this.#collect(reply);
      return this.#call('resume', ['l', ...short]);
    }
    const { shape, texts } = isDescribed(reply) ? reply : describeReply(reply);
    this.#collect(texts);
    return this.#call('resume', ['t', shape]);
  }

  /** Collects texts, so that the next call finds them as one list. */
  #collect(texts: readonly (Bytes | null)[]): void {
    for (let at = 0; at < texts.length; at += mostPushed)
      this.#call('collect', texts.slice(at, at + mostPushed));
  }

  #call(name: keyof typeof places, args: readonly (Bytes | null)[]): Bytes[] {
    const lua = this.#lua;
    lua.pushCopy(places[name]);
    for (const arg of args) {
      if (arg === null) lua.top += 1;
      else lua.pushText(arg);
    }
    lua.call(args.length);
    const results: Bytes[] = [];
    for (let at = bottom + 1, { top } = lua; at <= top; at += 1) results.push(lua.textAt(at));
    lua.top = bottom;
    return results;
  }
}

function respond(kind: Bytes, words: Bytes[], carryOut: CarryOut): Reply | Described {
  const [first = '', ...rest] = words;
  if (kind === 'call') return carryOut(first, rest);
  if (kind === 'json') return describeJson(first);
  return createHash('sha1').update(first, 'latin1').digest('hex');
}

function isDescribed(reply: object): reply is Described {
  return 'texts' in reply;
}

function isFlat(reply: Exclude<Reply, Bytes | number | null> | Described): reply is (Bytes | null)[] {
  return Array.isArray(reply) && reply.every((item) => typeof item === 'string' || item === null);
}

let machine: LuaMachine | undefined;

/** Returns the machine of this process. */
export function luaMachine(): LuaMachine {
  machine ??= new LuaMachine();
  return machine;
}
