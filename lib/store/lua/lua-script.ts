import type { ScriptTable } from './script-table.js';

export type ScriptName = keyof ScriptTable;

/** What a user of Redis is there for: an application that only publishes, one that handles, or somebody who operates them. */
export const ROLES = ['producer', 'consumer', 'operator'] as const;

export type Role = (typeof ROLES)[number];

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
  /** Who runs it. */
  readonly roles: readonly Role[];
  /**
   * `reads`: it only looks, and leaves alone what it meets. `adds`: it always adds to what is stored, so a full Redis refuses it before it
   * has written anything.
   */
  readonly flags: readonly ('reads' | 'adds')[];
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
