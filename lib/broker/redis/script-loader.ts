import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** A Lua script, ready to be sent. */
export interface Script {
  readonly name: string;
  readonly source: string;
  readonly sha: string;
}

const FOLDER = new URL('./lua/', import.meta.url);

/**
 * Reads `lua/<name>.lua` and puts the files that it names with `-- @include <name>` in place of those lines.
 *
 * @param firstLine comes before all else, as script flags have to
 */
export function loadScript(name: string, firstLine = ''): Script {
  const body = read(`${name}.lua`).replace(/^-- @include (\S+)$/gm, (_, include: string) =>
    read(`includes/${include}.lua`).trimEnd(),
  );
  const source = firstLine + body;
  return { name, source, sha: createHash('sha1').update(source).digest('hex') };
}

function read(path: string): string {
  return readFileSync(new URL(path, FOLDER), 'utf8');
}
