import { describe, expect, it } from 'vitest';
import { assertUsed, parseLua, parseModule } from '../../../scripts/setup/lua-modules.mjs';
import { readScript } from '../../../scripts/setup/lua-scripts.mjs';

const HEAD = '-- Does something.\n-- Roles consumer\n-- KEYS  owner STRING\n';

/** What a module has to have, so that nothing else about it is refused. */
const TAGS = "-- Tags.\n-- @exports carries\n\nlocal function carries(id) return id == '' end\n";

/** Reads a script that is no file, and uses modules that are none. */
function planted(script: string, modules: Readonly<Record<string, string>> = {}) {
  return readScript('planted.lua', (path) => {
    const [, module] = /^modules\/(.*)\.lua$/.exec(path.replaceAll('../', '')) ?? [];
    return module === undefined ? script : modules[module];
  });
}

/** Reads a script with this body, which takes a key `owner`. */
function body(text: string, modules?: Readonly<Record<string, string>>) {
  return planted(`${HEAD}\n${text}\n`, modules);
}

function locals(count: number): string {
  return Array.from({ length: count }, (_, i) => `a${i}`).join(', ');
}

describe('a Lua script', () => {
  it('has its keys and arguments as locals, and no comments', () => {
    const head =
      '-- Does something.\n--\n-- KEYS  owner STRING (who), meta HASH\n-- ARGV  id, ... (more)\n' +
      '-- Roles consumer, operator\n-- Flags reads\n';
    const text =
      "-- @use tags (carries)\n\n-- Tells.\nreturn { carries(id), owner, meta, '-- no comment', ARGV[FIRST] } -- all";

    expect(planted(`${head}\n${text}\n`, { tags: TAGS })).toEqual({
      source: [
        'local owner, meta = KEYS[1], KEYS[2]',
        'local id = ARGV[1]',
        'local FIRST = 2',
        'local carries',
        'do',
        "function carries(id) return id == '' end",
        'end',
        "return { carries(id), owner, meta, '-- no comment', ARGV[FIRST] }",
        '',
      ].join('\n'),
      keys: ['owner', 'meta'],
      args: ['id'],
      takesMore: true,
      roles: ['consumer', 'operator'],
      flags: ['reads'],
    });
  });

  it('has each module once, behind what that uses, and keeps to itself what nobody lists', () => {
    const modules = {
      ids: '-- Ids.\n-- @exports MOST, first, last\n-- @needs owner\n\nlocal MOST = 1\nlocal first, last = owner, MOST\n',
      tags: '-- Tags.\n-- @exports tag, spare\n-- @use ids (first)\n\nlocal tag = first\nlocal function spare()\n  -- Nothing.\nend\n',
    };

    expect(body('-- @use tags (tag)\n-- @use ids (first)\nreturn { tag, first }', modules).source).toBe(
      [
        'local owner = KEYS[1]',
        'local first',
        'do',
        'local MOST, last',
        'MOST = 1',
        'first, last = owner, MOST',
        'end',
        'local tag',
        'do',
        'tag = first',
        'end',
        'return { tag, first }',
        '',
      ].join('\n'),
    );
  });

  it('has a module that only assigns what it needs, since others read it', () => {
    const modules = { step: '-- Adopts.\n-- @needs first\n\nfirst = 2\n' };

    expect(body('local first = 1\n-- @use step\nreturn { owner, first }', modules).source).toBe(
      ['local owner = KEYS[1]', 'local first = 1', 'do', 'first = 2', 'end', 'return { owner, first }', ''].join('\n'),
    );
  });

  it('has a module where alone it is needed: in a clause of an `if`', () => {
    const modules = { tags: TAGS, step: '-- Stops.\n-- @use tags (carries)\n\nif carries() then return 2 end\n' };

    expect(body('if owner then\n  -- @use step\nend\nreturn 1', modules).source).toBe(
      [
        'local owner = KEYS[1]',
        'if owner then',
        '  local carries',
        'do',
        "function carries(id) return id == '' end",
        'end',
        'do',
        'if carries() then return 2 end',
        'end',
        'end',
        'return 1',
        '',
      ].join('\n'),
    );
  });

  it('has a module in a `while`, each time anew', () => {
    expect(body('while owner do\n  -- @use tags (carries)\n  carries(owner)\nend', { tags: TAGS }).source).toBe(
      [
        'local owner = KEYS[1]',
        'while owner do',
        '  local carries',
        'do',
        "function carries(id) return id == '' end",
        'end',
        '  carries(owner)',
        'end',
        '',
      ].join('\n'),
    );
  });

  it('makes what a module declares only if it is needed', () => {
    const modules = { tags: TAGS };

    expect(body('local is_tagged = owner\n-- @use tags (carries) if is_tagged\nreturn carries', modules).source).toBe(
      [
        'local owner = KEYS[1]',
        'local is_tagged = owner',
        'local carries',
        'if is_tagged then',
        "function carries(id) return id == '' end",
        'end',
        'return carries',
        '',
      ].join('\n'),
    );
  });

  it('reads many keys at once', () => {
    const text =
      '-- Does something.\n--\n-- KEYS  a HASH, b HASH, c HASH, d HASH, e HASH\n-- Roles consumer\n\nreturn { a, b, c, d, e }\n';

    expect(planted(text).source).toBe('local a, b, c, d, e = unpack(KEYS, 1, 5)\nreturn { a, b, c, d, e }\n');
  });

  it.each([
    ['a field', 'return { owner.total, total = owner }'],
    ['a text', "return { 'total \\' of', owner }"],
    ['a comment', '-- about total\nreturn { owner }'],
    ['a local of an outer block', 'local total = 1\nlocal function f() return total end\nreturn { f(), owner }'],
    ['what a loop declares for its condition', 'repeat local total = owner until total\nreturn 1'],
    ['nobody', 'local _, second = owner, 1\nreturn second'],
  ])('may name %s', (_, text) => {
    expect(() => body(text)).not.toThrow();
  });
});

describe('a Lua script is refused', () => {
  it.each([
    [
      'a key that it does not use',
      '-- KEYS  owner STRING,\n--       meta HASH',
      'return { owner }',
      "line 4: 'meta' is not used",
    ],
    ['an argument that it does not use', '-- ARGV  member, lease (ms)', 'return { lease }', "'member' is not used"],
    ['further arguments that it does not use', '-- ARGV  ... (ids)', 'return { FIRST }', "'ARGV' is not used"],
    ['a role that there is not', '-- KEYS  owner STRING\n-- Flags writes', 'return { owner }', "'writes' among Flags"],
    ['a key of no type', '-- KEYS  owner', 'return { owner }', "'owner' among KEYS"],
    ['an argument by no name', '-- ARGV  1 member', 'return { member }', "'1 member' among ARGV"],
  ])('whose head names %s', (_, headLine, text, message) => {
    expect(() => planted(`-- Does something.\n-- Roles consumer\n${headLine}\n\n${text}\n`)).toThrow(message);
  });

  it.each([
    ['a key that its head lacks', 'return { owner, meta }', "planted.lua, line 5: 'meta' is not declared"],
    ['a key by its number', 'return { owner, KEYS[1] }', "'KEYS' is not declared"],
    ['a function before it is declared', 'local a = f(owner)\nlocal function f() end\nreturn a', "'f' is not declared"],
    ['a local behind its block', 'do local a = owner end\nreturn a', "line 5: 'a' is not used"],
    [
      'a local of a function elsewhere',
      'local function f(a) return a end\nreturn { f(owner), a }',
      "line 6: 'a' is not",
    ],
    ['a global variable', 'for _ = 1, 2 do total = owner end', "'total' is not declared"],
    ['a global function that scripts do without', 'print(owner)', "'print' is not declared"],
  ])('that uses %s', (_, text, message) => {
    expect(() => body(text)).toThrow(message);
  });

  it.each([
    ['no roles', '-- Does something.\n--\n-- KEYS  owner STRING\n\nreturn owner\n', 'who runs it'],
    ['no head', 'return 1\n', 'there is no comment'],
    ['a local that it does not use', `${HEAD}\nlocal a = owner\n`, "line 5: 'a' is not used"],
    ['a name twice', `${HEAD}\nlocal owner = owner\nreturn owner\n`, "'owner' is declared already"],
    ['too many locals', `${HEAD}\nlocal ${locals(180)} = owner\nreturn { ${locals(180)} }\n`, 'more than 180 locals'],
    ['exports', `${HEAD}\n-- @exports a\nreturn owner\n`, "line 5: 'a' is said of a module"],
    ['a mistake', `${HEAD}\nreturn owner owner\n`, 'planted.lua, line 5'],
    [
      'a function that uses too much',
      `${HEAD}\nlocal ${locals(61)} = owner\nlocal function f() return { ${locals(61)} } end\nreturn f\n`,
      'line 6: the function uses more than 60 locals of others',
    ],
  ])('that has %s', (_, text, message) => {
    expect(() => planted(text)).toThrow(message);
  });
});

describe('the use of a module is refused', () => {
  it.each([
    ['there is no such module', '-- @use none (carries)\nreturn owner', "line 5: there is no module 'none'"],
    ['it does not export the name', '-- @use tags (untag)\nreturn owner', "does not export 'untag'"],
    ['the name is not used', '-- @use tags (carries)\nreturn owner', "line 5: 'carries' is not used"],
    ['the name is not listed', '-- @use tags\nreturn carries(owner)', "'carries' is not declared"],
    [
      'the name is used before',
      'local a = carries(owner)\n-- @use tags (carries)\nreturn a',
      "'carries' is not declared",
    ],
    ['the script has that name itself', 'local carries = owner\n-- @use tags (carries)\nreturn carries', 'already'],
    ['it is in a `for`', 'for _ = 1, #owner do\n  -- @use tags\n  return 1\nend', 'line 6: a module is used within'],
    ['it is in an expression', 'return {\n  -- @use tags\n  owner }', 'line 6: a module is used within'],
    [
      'another block has it',
      'if owner then\n  -- @use tags (carries)\n  carries()\nelse\n  -- @use tags (carries)\n  carries()\nend',
      'line 9: modules/tags.lua is used in another block before',
    ],
    [
      'a loop has it',
      'while owner do\n  -- @use tags (carries)\n  carries()\nend\n-- @use tags (carries)\nreturn carries(owner)',
      'line 9: modules/tags.lua is used in another block before',
    ],
    [
      'its block has ended',
      'if owner then\n  -- @use tags (carries)\n  carries()\nend\nreturn carries()',
      "'carries' is not declared",
    ],
    [
      'what it depends on is not declared',
      '-- @use tags (carries) if late\nlocal late = owner\nreturn carries == late',
      "line 5: 'late' is needed",
    ],
    [
      'it depends on something, and the module is there already',
      '-- @use tags (carries)\n-- @use tags if owner\nreturn carries(owner)',
      "line 6: modules/tags.lua is there already, whatever 'owner' is",
    ],
    ['the build cannot read it', '-- @use tags carries\nreturn owner', "'@use tags carries' says nothing"],
  ])('if %s', (_, text, message) => {
    expect(() => body(text, { tags: TAGS })).toThrow(message);
  });

  it.each([
    [
      'exports what it does not declare',
      '-- @exports a',
      'local b = 1\nreturn b',
      "line 2: 'a' is exported, and not declared",
    ],
    [
      'exports a part of a statement',
      '-- @exports a',
      'local a, b = 1, 2\nreturn b',
      "'a' is exported, and declared together",
    ],
    ['needs what it does not use', '-- @needs owner', 'return 1', "modules/planted.lua, line 2: 'owner' is not used"],
    [
      'needs what is not there',
      '-- @needs meta',
      'return meta',
      "'meta' is needed, and planted.lua has not declared it before",
    ],
    ['uses what it does not need', '-- Nothing.', 'return owner', "line 4: 'owner' is not declared"],
    ['uses another only if', '-- @use tags if own', 'return 1', 'line 2: only a script says on what a module depends'],
    ['uses itself', '-- @use planted', 'return 1', "the module 'planted' uses itself"],
    ['has too many locals', '-- Nothing.', `local ${locals(179)}\nreturn { ${locals(179)} }`, 'more than 180 locals'],
  ])('if it %s', (_, line, text, message) => {
    expect(() =>
      body('local own = 1\n-- @use planted\nlocal other = own\nreturn other == owner', {
        planted: `-- A module.\n${line}\n\n${text.replace(/^return/m, 'if 1 then return')} end\n`,
      }),
    ).toThrow(message);
  });

  it('if it needs what only another module has listed', () => {
    const call = '\n\nif carries() then return end\n';
    const modules = { tags: TAGS, a: `-- A.\n-- @use tags (carries)${call}`, b: `-- B.\n-- @needs carries${call}` };
    expect(() => body('-- @use a\n-- @use b\nreturn owner', modules)).toThrow("'carries' is needed");
  });

  it('if a circle of modules uses it', () => {
    const modules = { a: '-- A.\n-- @use b\n', b: '-- B.\n-- @use a\n' };
    expect(() => body('-- @use a\nreturn owner', modules)).toThrow(
      "modules/b.lua, line 2: the module 'a' uses itself: a, b, a",
    );
  });
});

describe('a module is refused', () => {
  const tags = parseModule('modules/tags.lua', TAGS);

  it('if nobody uses it, or what it exports', () => {
    expect(() => assertUsed([], [tags])).toThrow('modules/tags.lua, line 1: nobody uses the module');
    expect(() => assertUsed([parseLua('a.lua', '-- @use tags')], [tags])).toThrow(
      "modules/tags.lua, line 2: 'carries' is exported, and nobody uses it",
    );
    expect(() => assertUsed([parseLua('a.lua', '-- @use tags (carries)')], [tags])).not.toThrow();
  });
});
