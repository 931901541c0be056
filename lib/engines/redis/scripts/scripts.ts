import { createHash } from 'node:crypto';
import type { LuaScript, ScriptName } from '../../../store/lua/lua-script.js';
import { SCRIPTS } from '../../../store/lua/script-sources.js';

export const SCRIPT_NAMES = Object.keys(SCRIPTS) as readonly ScriptName[];

/** A Lua script, ready to be sent. */
export interface Script extends LuaScript {
  readonly name: ScriptName;
  readonly sha: string;
}

/** @param firstLine before all else, as script flags require */
export function scriptOf(name: ScriptName, firstLine = ''): Script {
  const script = SCRIPTS[name];
  const source = firstLine + script.source;
  return { ...script, name, source, sha: createHash('sha1').update(source).digest('hex') };
}
