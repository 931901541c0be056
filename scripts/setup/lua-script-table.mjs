import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { FOLDER, assertModulesUsed, readScripts } from './lua-scripts.mjs';

const TABLE = join(FOLDER, 'script-table.ts');

/** Writes the table of the scripts anew if it is not what their heads say. */
export function writeScriptTable() {
  assertModulesUsed();
  const table = scriptTable();
  if (readFileSync(TABLE, 'utf8') !== table) writeFileSync(TABLE, table);
}

/** Tells TypeScript what each script takes. */
export function scriptTable() {
  return [
    '// Made from the heads of the scripts by scripts/setup/lua-script-table.mjs; `npm run build` writes it anew.\n',
    '\n/** The keys of each script, and behind a bar its arguments; the last of them is `...` if further ones follow. */\n',
    `export interface ScriptTable {\n${readScripts().map(lineOf).join('')}}\n`,
  ].join('');
}

function lineOf([name, { keys, args, takesMore }]) {
  const property = name.includes('-') ? `'${name}'` : name;
  return `  ${property}: '${keys.join(' ')} | ${[...args, ...(takesMore ? ['...'] : [])].join(' ')}';\n`;
}
