import { createRequire } from 'node:module';
import type { Bytes } from '../reply.ts';

const require = createRequire(import.meta.url);

/** The functions of Lua's own C interface that its build exports. Texts are addresses of bytes that end with 0. */
interface LuaModule {
  HEAPU8: Uint8Array;
  HEAPU32: Uint32Array;
  _malloc(size: number): number;
  _luaL_newstate(): number;
  _luaL_openlibs(state: number): void;
  _luaL_loadbuffer(state: number, text: number, length: number, name: number): number;
  _lua_gettop(state: number): number;
  _lua_settop(state: number, top: number): void;
  _lua_pushvalue(state: number, place: number): void;
  _lua_pushstring(state: number, text: number): void;
  _lua_tolstring(state: number, place: number, length: number): number;
  _lua_pcall(state: number, args: number, results: number, handler: number): number;
}

/** The number of values that a call may push; Lua has room for 20. */
export const mostPushed = 14;

/** Lua 5.1.5, the version in Redis, compiled to WebAssembly. Everything is synchronous. */
export class LuaState {
  readonly #lua = loadLua();
  readonly #state = this.#lua._luaL_newstate();
  readonly #lengthPlace = this.#lua._malloc(4);
  #buffer: Buffer = Buffer.alloc(0);
  #scratch = { place: this.#lua._malloc(65_536), size: 65_536 };

  constructor() {
    this.#lua._luaL_openlibs(this.#state);
    this.top = 0;
  }

  /** The number of values on the stack. */
  get top(): number {
    return this.#lua._lua_gettop(this.#state);
  }

  /** Removes values, or pushes nil. */
  set top(top: number) {
    this.#lua._lua_settop(this.#state, top);
  }

  pushCopy(place: number): void {
    this.#lua._lua_pushvalue(this.#state, place);
  }

  pushText(text: Bytes): void {
    if (text.includes('\0')) this.#pushAny(text);
    else this.#lua._lua_pushstring(this.#state, this.#write(text));
  }

  /** Returns the text or the number at a place. */
  textAt(place: number): Bytes {
    const start = this.#lua._lua_tolstring(this.#state, place, this.#lengthPlace);
    if (start === 0) return '';
    const length = this.#lua.HEAPU32[this.#lengthPlace / 4] ?? 0;
    return this.#bytes().toString('latin1', start, start + length);
  }

  /** Calls the function below its arguments, which leaves all its results. @throws Error of Lua */
  call(args: number): void {
    if (this.#lua._lua_pcall(this.#state, args, -1, 0) !== 0) throw new Error(this.textAt(-1));
  }

  /** Pushes the function of a source. @throws Error of Lua */
  pushFunction(source: Bytes): void {
    const place = this.#write(source);
    if (this.#lua._luaL_loadbuffer(this.#state, place, source.length, place) !== 0)
      throw new Error(this.textAt(-1));
  }

  /** Pushes a text with zeros, at which `lua_pushstring` would end. */
  #pushAny(text: Bytes): void {
    const digits = (letter: string) => `\\${String(letter.charCodeAt(0)).padStart(3, '0')}`;
    this.pushFunction(`return "${text.replace(/[\0\r\n"\\]/g, digits)}"`);
    this.call(0);
  }

  #write(text: Bytes): number {
    if (text.length >= this.#scratch.size) {
      // The former place is never freed: the build exports no `free`. Each place is twice as large as the one before.
      const size = 2 * text.length + 1;
      this.#scratch = { place: this.#lua._malloc(size), size };
    }
    const { place } = this.#scratch;
    const bytes = this.#bytes();
    bytes.write(text, place, 'latin1');
    bytes[place + text.length] = 0;
    return place;
  }

  /** The memory of Lua: a view ends when the memory grows. */
  #bytes(): Buffer {
    const { buffer } = this.#lua.HEAPU8;
    if (this.#buffer.buffer !== buffer) this.#buffer = Buffer.from(buffer);
    return this.#buffer;
  }
}

/** Compiles Lua. Its loader adds listeners that end the process, which a library must not do: they are removed. */
function loadLua(): LuaModule {
  const events = ['uncaughtException', 'unhandledRejection'] as const;
  const before = events.map((event) => process.listeners(event as 'uncaughtException'));
  const make: () => LuaModule = require('lua-wasm-bindings/dist/glue/glue-lua-5.1.5.js');
  const lua = make();
  for (const [at, event] of events.entries())
    for (const listener of process.listeners(event as 'uncaughtException'))
      if (!before[at]?.includes(listener)) process.removeListener(event, listener);
  return lua;
}
