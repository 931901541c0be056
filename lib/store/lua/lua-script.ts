import type { ScriptTable } from './script-table.js';

export type ScriptName = keyof ScriptTable;

/** Roles of a Redis user: an application that only publishes, one that handles, or an operator of them. */
export const ROLES = ['producer', 'consumer', 'operator'] as const;

export type Role = (typeof ROLES)[number];

/** A Lua script as built, see scripts/setup/lua-scripts.mjs. */
export interface LuaScript {
  /** With every module that it uses, and without comments. */
  readonly source: string;
  /** Names of its keys, in their order. */
  readonly keys: readonly string[];
  /** Names of its arguments, in their order. */
  readonly args: readonly string[];
  /** Whether further arguments follow. */
  readonly takesMore: boolean;
  /** Roles that run it. */
  readonly roles: readonly Role[];
  /**
   * `reads`: it only reads, and mends nothing that it meets. `adds`: it always adds to what is stored, so a full Redis refuses it before
   * it has written anything.
   */
  readonly flags: readonly ('reads' | 'adds')[];
}

export type Argument = string | number;

type Words<Text extends string> = Text extends `${infer First} ${infer Others}` ? First | Words<Others> : Text;

type Parameters<Keys extends string, Args extends string> = Record<Keys, string> &
  Record<Exclude<Args, '' | '...'>, Argument> &
  ('...' extends Args ? { rest: readonly Argument[] } : unknown);

/** Keys and arguments of a script, by name. */
export type ScriptParameters<N extends ScriptName> = ScriptTable[N] extends `${infer Keys} | ${infer Args}`
  ? Parameters<Words<Keys>, Words<Args>>
  : never;
