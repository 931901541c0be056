import type { ScriptName } from '../../store/lua/lua-script.js';
import type { LuaRuntime } from './lua/lua-library.js';
import type { LuaTable, LuaValue } from './lua/lua-value.js';

/** A script as JavaScript. */
export type TranslatedScript = (KEYS: LuaTable, ARGV: LuaTable) => LuaValue[];

/** Scripts by their names, before they have a runtime. */
export type Translated<N extends string> = Readonly<Record<N, (runtime: LuaRuntime) => TranslatedScript>>;

/** Made from `lib/store/lua` by scripts/setup/lua-scripts.mjs. */
export const TRANSLATED: Translated<ScriptName>;
