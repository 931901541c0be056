import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { typeOfKey } from '../../../../../lib/store/keys.js';
import { SCRIPT_NAMES, scriptOf } from '../../../../../lib/engines/redis/scripts/scripts.js';
import { scriptTable } from '../../../../../scripts/setup/lua-script-table.mjs';

const FOLDER = new URL('../../../../../lib/store/lua/', import.meta.url);

function read(path: string): string {
  return readFileSync(new URL(path, FOLDER), 'utf8');
}

function luaIn(folder: string): string[] {
  return readdirSync(new URL(folder, FOLDER)).filter((file) => file.endsWith('.lua'));
}

/** The comment lines at the top of a file, without their dashes. */
function head(source: string): string[] {
  const lines = source.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('--') || line.startsWith('-- @use'));
  return lines.slice(0, end).map((line) => line.replace(/^-- ?/, ''));
}

/** The lines of a section of the head: the one it begins with, and those indented below. */
function section(lines: readonly string[], title: string): string | undefined {
  const start = lines.findIndex((line) => line.startsWith(`${title} `));
  if (start === -1) return undefined;
  const rest = lines.slice(start + 1);
  const length = rest.findIndex((line) => !line.startsWith('  '));
  return [lines[start], ...rest.slice(0, length === -1 ? undefined : length)].join(' ');
}

/** What a section of the head lists, without what explains it. */
function listed(lines: readonly string[], title: string): string[] {
  const text = (section(lines, title) ?? '').slice(title.length).replaceAll(/\([^)]*\)/g, '');
  return text.split(',').flatMap((each) => each.trim() || []);
}

function localsOf(table: string, all: readonly string[]): string {
  if (all.length === 0) return '';
  const one = all.map((_, n) => `${table}[${n + 1}]`).join(', ');
  return `local ${all.join(', ')} = ${all.length > 4 ? `unpack(${table}, 1, ${all.length})` : one}\n`;
}

describe('the Lua scripts', () => {
  it('are in the table as their heads say; npm run build writes it', () => {
    expect(read('script-table.ts')).toBe(scriptTable());
  });

  it('are those of the folder', () => {
    expect(SCRIPT_NAMES.map((name) => `${name}.lua`).toSorted()).toEqual(luaIn('.').toSorted());
  });

  for (const name of SCRIPT_NAMES) {
    describe(`'${name}'`, () => {
      const source = read(`${name}.lua`);
      const lines = head(source);

      it('has a header with purpose, arguments, reply and cost', () => {
        expect(lines[0]).toMatch(/^[A-Z].*[.:,]/);
        expect(section(lines, 'KEYS')).toBeDefined();
        expect(section(lines, 'Reply')).toMatch(/\{now_us/);
        expect(section(lines, 'Cost')).toMatch(/O\(/);
      });

      it('gets its keys and arguments in the order of its head', () => {
        const { source: whole, keys, args, takesMore } = scriptOf(name);
        const ofHead = listed(lines, 'KEYS').map((each) => each.split(' ')[0]);
        const takesPlaces = ofHead.at(-1) === '...';
        expect([...keys, ...(takesPlaces ? ['...'] : [])]).toEqual(ofHead);
        expect([...args, ...(takesMore ? ['...'] : [])]).toEqual(listed(lines, 'ARGV'));
        const places = takesPlaces ? `local PLACE = ${keys.length}\n` : localsOf('KEYS', keys);
        expect(whole).toContain(places + localsOf('ARGV', args));
        expect(whole).not.toMatch(/(?<!= .*)(KEYS|ARGV)\[\d/);
      });

      it('says of each key the type that it is set aside for not having', () => {
        for (const [, key = '', type] of (section(lines, 'KEYS') ?? '').matchAll(/\b([a-z]+) (ZSET|HASH|STRING)\b/g)) {
          expect([undefined, type]).toContain(typeOfKey(`{dq:orders:0}:${key}`));
        }
      });

      it('goes to Redis without comments and empty lines', () => {
        expect(scriptOf(name).source).not.toMatch(/--|\n\n| \n/);
      });

      it('has the hash that Redis gives it', () => {
        const { source: whole, sha } = scriptOf(name);

        expect(sha).toBe(createHash('sha1').update(whole).digest('hex'));
      });

      it('replies with the time of the server first, at every return', () => {
        const { source: whole } = scriptOf(name);
        // A return before a function's `end` is not a reply of the script.
        const answers = [...whole.matchAll(/^(?: {2}|if [^\n]* then )?return ([^\n]*)$/gm)].map(
          ([, value]) => value ?? '',
        );
        const outside = answers.filter((value) => /^(reply|\{)/.test(value));

        expect(outside.length).toBeGreaterThan(0);
        for (const value of outside) expect(value).toMatch(/^(reply$|\{ now_us\b)/);
        expect(whole.includes('return reply')).toBe(/\breply = \{\s*now_us/.test(whole));
      });
    });
  }

  it.each(luaIn('modules/'))('have the module %s, which says what it is', (module) => {
    expect(read(`modules/${module}`)).toMatch(/^-- [A-Z]/);
  });

  it('accept a first line, which comes before everything else and is part of the hash', () => {
    const plain = scriptOf('get');
    const flagged = scriptOf('get', '#!lua flags=no-writes\n');

    expect(flagged.source).toBe(`#!lua flags=no-writes\n${plain.source}`);
    expect(flagged.sha).not.toBe(plain.sha);
    expect(flagged.sha).toBe(createHash('sha1').update(flagged.source).digest('hex'));
  });
});
