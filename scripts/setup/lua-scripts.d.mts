// What TypeScript needs of lua-scripts.mjs.
import type { Plugin } from 'vitest/config';

export interface LuaScript {
  readonly source: string;
  readonly keys: string[];
  readonly args: string[];
  readonly takesMore: boolean;
  readonly roles: string[];
  readonly flags: string[];
}

export function luaScripts(): Plugin;
export function readScript(path: string, read?: (path: string) => string | undefined): LuaScript;
