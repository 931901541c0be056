// The part of lua-scripts.mjs that vitest's configurations use.
import type { Plugin } from 'vitest/config';

export function luaScripts(): Plugin;
