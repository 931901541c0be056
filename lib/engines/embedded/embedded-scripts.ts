import type { ScriptName } from '../../store/lua/lua-script.js';
import type { EmbeddedData } from './data/embedded-data.js';
import type { DataReply } from './data/keyspace.js';
import { ReplyError } from './data/reply-error.js';
import { type LuaRuntime, luaRuntime } from './lua/lua-library.js';
import { LuaError, type LuaFunction, LuaTable, type LuaValue, formatNumber } from './lua/lua-value.js';
import type { Translated, TranslatedScript } from './translated-scripts.js';

/** Digits of a number that a script gives a command: `%.17g`, as Redis has it. */
const DIGITS = 17;

/** Runs scripts on data in this process. */
export class EmbeddedScripts<N extends string = ScriptName> {
  readonly #translated: Translated<N>;
  readonly #runtime: LuaRuntime;
  readonly #scripts = new Map<N, TranslatedScript>();

  constructor(data: EmbeddedData, translated: Translated<N>) {
    this.#translated = translated;
    const call: LuaFunction = (name, ...given) => [toLua(data.call(argumentOf(name), ...given.map(argumentOf)))];
    this.#runtime = luaRuntime({
      call,
      pcall: (...given) => {
        try {
          return call(...given);
        } catch (error) {
          if (error instanceof ReplyError) return [new LuaTable().with('err', error.message)];
          throw error;
        }
      },
      error_reply: (text) => [new LuaTable().with('err', text)],
    });
  }

  /**
   * @param keys in the order of the script's head, as the arguments
   * @throws ReplyError as Redis replies
   */
  run(name: N, keys: string[], args: string[]): DataReply {
    let script = this.#scripts.get(name);
    if (!script) {
      script = this.#translated[name](this.#runtime);
      this.#scripts.set(name, script);
    }
    try {
      return toReply(script(new LuaTable(keys), new LuaTable(args))[0]);
    } catch (error) {
      if (error instanceof ReplyError) throw error;
      throw new ReplyError(`ERR user_script: ${(error as Error).message} script: ${name}`, { cause: error });
    }
  }
}

function argumentOf(value: LuaValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return formatNumber(value, DIGITS);
  throw new LuaError('Lua redis lib command arguments must be strings or integers');
}

/** Converts a reply for a script, where `false` stands for what is not there. */
function toLua(reply: DataReply): LuaValue {
  if (reply === null) return false;
  if (typeof reply !== 'object') return reply;
  return 'ok' in reply ? new LuaTable().with('ok', reply.ok) : new LuaTable(reply.map(toLua));
}

/** Converts a result of a script as Redis does: numbers become whole, and a list ends at its first nil. */
function toReply(value: LuaValue): DataReply {
  if (value === undefined || value === false) return null;
  if (value === true) return 1;
  if (typeof value === 'number') return Math.trunc(value);
  if (typeof value === 'string') return value;
  if (!(value instanceof LuaTable)) return null;
  const error = value.get('err');
  if (typeof error === 'string') throw new ReplyError(error);
  const ok = value.get('ok');
  return typeof ok === 'string' ? { ok } : value.list.map(toReply);
}
