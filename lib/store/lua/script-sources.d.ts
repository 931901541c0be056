import type { LuaScript, ScriptName } from './lua-script.js';

/** Made from the Lua files in this folder by scripts/setup/lua-scripts.mjs. */
export const SCRIPTS: Readonly<Record<ScriptName, LuaScript>>;
