// What the configurations of vitest need of lua-scripts.mjs.
import type { Plugin } from 'vitest/config';

export function luaScripts(): Plugin;
