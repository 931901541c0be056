import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { SCRIPT_NAMES, scriptOf } from '../../../../lib/broker/redis/scripts.js';

const FOLDER = new URL('../../../../lib/broker/redis/lua/', import.meta.url);

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

const INCLUDES = names('includes/');

describe('the Lua scripts', () => {
  it('are those of the folder', () => {
    expect(SCRIPT_NAMES.toSorted()).toEqual(names('.').toSorted());
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

      it('names in its header every key and argument that it uses', () => {
        const { source: whole } = scriptOf(name);
        for (const kind of ['KEYS', 'ARGV']) {
          const used = [...whole.matchAll(new RegExp(`\\b${kind}\\[(\\d+)\\]`, 'g'))].map(([, number]) =>
            Number(number),
          );
          const named = [...(section(lines, kind) ?? '').matchAll(/(?<= )(\d+) [a-z]/g)].map(([, number]) =>
            Number(number),
          );
          const most = Math.max(0, ...used);
          expect(named.slice(0, most)).toEqual(Array.from({ length: most }, (_, i) => i + 1));
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

      it('includes what its includes need, before it uses it', () => {
        for (const [line, include] of source.matchAll(/^-- @include (\S+)$/gm)) {
          const needs = /^-- Needs: (.*)\.$/m.exec(read(`includes/${include}.lua`))?.[1]?.split(', ') ?? [];
          const before = source.slice(0, source.indexOf(line));
          for (const needed of needs) expect(before).toMatch(new RegExp(`^local .*\\b${needed}\\b`, 'm'));
        }
      });

      it('replies with the time of the server first, at every return', () => {
        // A return before a function's `end` is not a reply of the script.
        const answers = [...source.matchAll(/^(?: {2}|if [^\n]* then )?return ([^\n]*)$/gm)].map(
          ([, value]) => value ?? '',
        );
        const outside = answers.filter((value) => /^(reply|\{)/.test(value));

        expect(source).toContain('-- @include now');
        expect(outside.length).toBeGreaterThan(0);
        for (const value of outside) expect(value).toMatch(/^(reply$|\{ now_us\b)/);
        expect(source.includes('return reply')).toBe(/local reply = \{\s*now_us/.test(source));
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
