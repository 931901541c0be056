import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { typeOfKey } from '../../../../lib/broker/redis/redis-keys.js';
import { SCRIPT_NAMES, scriptOf } from '../../../../lib/broker/redis/scripts.js';
import { readScript, scriptTable } from '../../../../scripts/setup/lua-scripts.mjs';

const FOLDER = new URL('../../../../lib/broker/redis/lua/', import.meta.url);

/** What a script that lacks an include uses without having it, or has without using it. */
const UNKNOWN_OR_UNUSED = / uses '\w+', which neither its head nor|, which the script does not use/;

function read(path: string): string {
  return readFileSync(new URL(path, FOLDER), 'utf8');
}

function names(folder: string): string[] {
  const files = readdirSync(new URL(folder, FOLDER)).filter((file) => file.endsWith('.lua'));
  return files.map((file) => file.replace(/\.lua$/, ''));
}

/** The comment lines at the top of a file, without their dashes. */
function head(source: string): string[] {
  const lines = source.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('--') || line.startsWith('-- @include'));
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
  return `local ${all.join(', ')} = ${all.map((_, n) => `${table}[${n + 1}]`).join(', ')}\n`;
}

/** Reads a script that is no file. */
function planted(headLine: string, body: string): () => unknown {
  return () => readScript('planted.lua', () => `-- Does something.\n--\n${headLine}\n\n${body}\n`);
}

const INCLUDES = names('includes/');

describe('the Lua scripts', () => {
  it('are in the table as their heads say; npm run build writes it', () => {
    expect(read('script-table.ts')).toBe(scriptTable());
  });

  it('are those of the folder', () => {
    expect(SCRIPT_NAMES.toSorted()).toEqual(names('.').toSorted());
  });

  for (const name of SCRIPT_NAMES) {
    describe(`'${name}'`, () => {
      const path = fileURLToPath(new URL(`${name}.lua`, FOLDER));
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

      it('has every include in place of its line', () => {
        const loaded = scriptOf(name);

        expect(loaded.name).toBe(name);
        expect(loaded.source).not.toContain('@include');
        for (const [, include] of source.matchAll(/^-- @include (\S+)$/gm)) {
          expect(loaded.source).toContain(read(`includes/${include}.lua`).trimEnd());
        }
        expect(source.match(/@include/g) ?? []).toHaveLength(source.match(/^-- @include \S+$/gm)?.length ?? 0);
      });

      it('has the hash that Redis gives it', () => {
        const { source: whole, sha } = scriptOf(name);

        expect(sha).toBe(createHash('sha1').update(whole).digest('hex'));
      });

      it('needs each of its includes', () => {
        for (const [line, include] of source.matchAll(/^-- @include (\S+)$/gm)) {
          const without = (file: string): string => readFileSync(file, 'utf8').replace(`${line}\n`, '');
          expect(() => readScript(path, without), include).toThrow(UNKNOWN_OR_UNUSED);
        }
      });

      it('replies with the time of the server first, at every return', () => {
        // What two scripts are made of is an include.
        const body = source.replace('-- @include publish\n', () => read('includes/publish.lua'));
        // A return before a function's `end` is not a reply of the script.
        const answers = [...body.matchAll(/^(?: {2}|if [^\n]* then )?return ([^\n]*)$/gm)].map(
          ([, value]) => value ?? '',
        );
        const outside = answers.filter((value) => /^(reply|\{)/.test(value));

        expect(source).toContain('-- @include now');
        expect(outside.length).toBeGreaterThan(0);
        for (const value of outside) expect(value).toMatch(/^(reply$|\{ now_us\b)/);
        expect(body.includes('return reply')).toBe(/local reply = \{\s*now_us/.test(body));
      });
    });
  }

  for (const include of INCLUDES) {
    it(`have a use for the include '${include}', and it says what it is`, () => {
      const users = SCRIPT_NAMES.filter((name) => read(`${name}.lua`).includes(`-- @include ${include}\n`));

      expect(users).not.toEqual([]);
      expect(read(`includes/${include}.lua`)).toMatch(/^-- [A-Z]/);
      expect(read(`includes/${include}.lua`)).not.toContain('@include');
    });
  }

  it('accept a first line, which comes before everything else and is part of the hash', () => {
    const plain = scriptOf('get');
    const flagged = scriptOf('get', '#!lua flags=no-writes\n');

    expect(flagged.source).toBe(`#!lua flags=no-writes\n${plain.source}`);
    expect(flagged.sha).not.toBe(plain.sha);
    expect(flagged.sha).toBe(createHash('sha1').update(flagged.source).digest('hex'));
  });
});

describe('a Lua script is refused', () => {
  it.each([
    ['a key that it does not use', '-- KEYS  owner STRING, meta HASH', 'return { owner }', "names 'meta'"],
    ['an argument that it does not use', '-- ARGV  member, lease (ms)', 'return { lease }', "names 'member'"],
    ['further arguments that it does not use', '-- ARGV  ... (ids)', 'return { 1 }', "names 'ARGV'"],
    ['a key of no type', '-- KEYS  owner', 'return { owner }', "'owner' among its KEYS"],
    ['an argument by no name', '-- ARGV  1 member', 'return { member }', "'1 member' among its ARGV"],
  ])('whose head names %s', (_, headLine, body, message) => {
    expect(planted(headLine, body)).toThrow(message);
  });

  it.each([
    ['a key that its head lacks', 'return { owner, meta }', "uses 'meta'"],
    ['a key by its number', 'return { owner, KEYS[1] }', "uses 'KEYS'"],
    ['an argument by its number', 'return { owner, ARGV[1] }', "uses 'ARGV'"],
    ['a function before it is declared', 'local a = f(owner)\nlocal function f(b) return b end\nreturn a', "uses 'f'"],
    ['a global variable', 'for i = 1, 2 do total = i end\nreturn { owner }', "uses 'total'"],
  ])('that uses %s', (_, body, message) => {
    expect(planted('-- KEYS  owner STRING', body)).toThrow(message);
  });

  it('that has no head', () => {
    expect(() => readScript('planted.lua', () => 'return 1\n')).toThrow('does not begin with a comment');
  });

  it('but not for a name in a comment, in a text, or of a field', () => {
    const body = "-- about total\nlocal text = 'total \\' of'\nreturn { total = text, owner.total }";
    expect(planted('-- KEYS  owner STRING', body)).not.toThrow();
  });
});
