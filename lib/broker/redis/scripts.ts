import { createHash } from 'node:crypto';
import { SCRIPTS } from './lua/script-table.js';

export type ScriptName = keyof typeof SCRIPTS;

export const SCRIPT_NAMES = Object.keys(SCRIPTS) as readonly ScriptName[];

/** A Lua script, ready to be sent. */
export interface Script {
  readonly name: ScriptName;
  readonly source: string;
  readonly sha: string;
  /** The names of its keys in their order. */
  readonly keys: readonly string[];
  /** The names of its arguments in their order. */
  readonly args: readonly string[];
  /** Whether further arguments follow. */
  readonly takesMore: boolean;
}

/** @param firstLine comes before all else, as script flags have to */
export function scriptOf(name: ScriptName, firstLine = ''): Script {
  const script = SCRIPTS[name];
  const source = firstLine + script.source;
  return { ...script, name, source, sha: createHash('sha1').update(source).digest('hex') };
}
