import type { ScriptTable } from './script-table.js';

export type ScriptName = keyof ScriptTable;

/** A Lua script as the build makes it, see scripts/setup/lua-scripts.mjs. */
export interface LuaScript {
  /** With every module that it uses, and without comments. */
  readonly source: string;
  /** The names of its keys in their order. */
  readonly keys: readonly string[];
  /** The names of its arguments in their order. */
  readonly args: readonly string[];
  /** Whether further arguments follow. */
  readonly takesMore: boolean;
}

export type Argument = string | number;

type Words<Text extends string> = Text extends `${infer First} ${infer Others}` ? First | Words<Others> : Text;

type Parameters<Keys extends string, Args extends string> = Record<Keys, string> &
  Record<Exclude<Args, '' | '...'>, Argument> &
  ('...' extends Args ? { rest: readonly Argument[] } : unknown);

/** The keys and arguments that a script takes, by their names. */
export type ScriptParameters<N extends ScriptName> = ScriptTable[N] extends `${infer Keys} | ${infer Args}`
  ? Parameters<Words<Keys>, Words<Args>>
  : never;
