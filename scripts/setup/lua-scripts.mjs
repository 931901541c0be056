import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A line of a script that stands for a file of the folder `includes` beside it. */
const INCLUDE = /^-- @include (\S+)$/gm;

/**
 * Makes a module of each Lua script that is imported: its default export is the source, with every include in place of its
 * line. So the scripts stay files, and what is built reads nothing from disk. For rolldown and Vite alike.
 */
export function luaScripts() {
  return {
    name: 'lua-scripts',
    load(id) {
      if (!id.endsWith('.lua')) return undefined;
      const source = readFileSync(id, 'utf8').replace(INCLUDE, (_, include) => {
        const path = join(dirname(id), 'includes', `${include}.lua`);
        this.addWatchFile(path);
        return readFileSync(path, 'utf8').trimEnd();
      });
      return { code: `export default ${JSON.stringify(source)};`, moduleType: 'js', map: null };
    },
  };
}
