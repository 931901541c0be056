import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A line of a script that includes a file of the folder `includes` beside it. */
const INCLUDE = /^-- @include (\S+)$/gm;

/**
 * Makes a module of each imported Lua script, for rolldown and Vite. The default export is the source with all includes. So the
 * scripts stay files, and the built code reads nothing from disk.
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
