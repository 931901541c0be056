import { copyFile, mkdtemp, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { SCRIPT_NAMES, VERSION, scriptOf } from '../support/internals.js';
import { type AppStyle, compileApps, greeterOutput, runGreeter } from '../support/package/greeter.js';
import { installOnNest12 } from '../support/package/installations.js';
import { packLibrary } from '../support/package/packed-library.js';
import { readJson } from '../support/package/read-json.js';
import { runProgram } from '../support/package/run-program.js';

interface Component {
  readonly name: string;
}

describe('the packed library', () => {
  let files: readonly string[];

  beforeAll(async () => {
    ({ files } = await packLibrary());
  });

  it('holds the code and the declarations, with maps of both', () => {
    for (const end of ['js', 'js.map', 'd.ts', 'd.ts.map']) expect(files).toContain(`dist/cjs/index.${end}`);
    for (const end of ['js', 'd.ts', 'd.ts.map']) expect(files).toContain(`dist/esm/index.${end}`);
  });

  it('is one copy, whether it is imported or required', async () => {
    const program = `
      const [required, imported] = [require('nestjs-delay-queue'), import('nestjs-delay-queue')];
      imported.then((all) => console.log(Object.entries(required).filter(([name, one]) => all[name] !== one).length));
    `;
    expect(await runProgram(process.execPath, ['-e', program], { cwd: await installOnNest12() })).toBe('0');
  });

  it('holds what the maps and the README lead to, and nothing else', () => {
    expect(files).toEqual(
      expect.arrayContaining([
        'lib/index.ts',
        'lib/store/lua/claim.lua',
        'tools/import-bullmq/bullmq-import.ts',
        'docs/guides/operations.md',
      ]),
    );
    expect(files.filter((path) => /^clients\/.*(test|behaviour|__pycache__)/.test(path))).toEqual([]);
    const others = files.filter((path) => !/^(clients|dist|docs|lib|tools)\//.test(path));
    expect(others.toSorted()).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'package.json']);
  });

  it('holds each script as Redis gets it', async () => {
    const scripts = files.filter((path) => path.startsWith('dist/lua/'));

    expect(scripts).toHaveLength(SCRIPT_NAMES.length);
    for (const name of SCRIPT_NAMES) expect(await readFile(`dist/lua/${name}.lua`, 'utf8')).toBe(scriptOf(name).source);
  });

  it('has every file that its manifest names', async () => {
    const { main, types, bin, exports, typesVersions } =
      await readJson<Record<'main' | 'types' | 'bin' | 'exports' | 'typesVersions', unknown>>('package.json');
    const named = pathsIn([main, types, bin, exports, typesVersions]);

    expect(named).toContain('./dist/esm/testing/index.d.ts');
    expect(named.filter((path) => !files.includes(path.replace('./', '')))).toEqual([]);
  });

  it('has a manifest that npm publishes as it is', async () => {
    const folder = await mkdtemp(join(inject('runFolder'), 'manifest-'));
    await copyFile('package.json', join(folder, 'package.json'));
    await runProgram('npm', ['pkg', 'fix'], { cwd: folder });

    expect(await readJson(join(folder, 'package.json'))).toEqual(await readJson('package.json'));
  });

  describe('what became part of its code', () => {
    let inlined: string[];

    beforeAll(async () => {
      const { devDependencies } = await readJson<{ devDependencies: Record<string, string> }>('package.json');
      const code = await codeOf(files);
      inlined = Object.keys(devDependencies).filter((name) => code.includes(`// node_modules/${name}/`));
    });

    it('comes with its licenses', async () => {
      const licenses = await readFile('dist/third-party-licenses.txt', 'utf8');

      expect(inlined).toEqual(expect.arrayContaining(['uuid', 'commander']));
      for (const name of inlined) expect(licenses).toMatch(new RegExp(`^## ${name} - `, 'm'));
    });

    it('is listed for a release, with what is installed beside it, and the notes are those of this version', async () => {
      const folder = await mkdtemp(join(inject('runFolder'), 'release-'));
      await runProgram(process.execPath, ['scripts/release-files.mjs', folder]);
      const { name, version } = await readJson<{ name: string; version: string }>('package.json');
      const { metadata, components } = await readJson<{
        metadata: { component: Component };
        components: readonly Component[];
      }>(join(folder, 'sbom.cdx.json'));
      const notes = await readFile(join(folder, 'notes.md'), 'utf8');

      expect(metadata.component).toMatchObject({ name, version });
      const names = components.map((component) => component.name);
      expect(names).toEqual(expect.arrayContaining([...inlined, 'preact', '@standard-schema/spec']));
      expect(names).not.toContain('vitest');
      const whole = { purl: expect.any(String), hashes: [expect.anything()], licenses: [expect.anything()] };
      // npm's properties are those of a tool for development.
      for (const one of components) expect(one).toMatchObject({ ...whole, properties: [] });
      const changelog = await readFile('CHANGELOG.md', 'utf8');
      const [, rest] = changelog.split(new RegExp(`^## \\[${version}\\] - [\\d-]{10}\\n\\n`, 'm'));
      expect(rest?.slice(0, notes.length)).toBe(notes);
      expect(notes).toMatch(/^- /m);
      expect(notes).not.toMatch(/^## /m);
    });
  });

  it('holds the pages of the dashboard, in at most 1 MiB', async () => {
    const pages = files.filter((path) => path.startsWith('dist/dashboard/'));
    const sizes = await Promise.all(pages.map(async (path) => (await readFile(path)).length));

    expect(pages).toContain('dist/dashboard/index.html');
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(1024 * 1024);
  });

  it('has nothing of the demo', async () => {
    const pages = files.filter((path) => path.startsWith('dist/dashboard/'));
    const code = await Promise.all(pages.map(async (path) => readFile(path, 'utf8')));

    expect(files.filter((path) => path.startsWith('docs/demo/'))).toEqual([]);
    expect(code.join('')).not.toContain('NOT_RECORDED');
  });

  it('reads nothing from disk but those pages, so that it can be bundled', async () => {
    const code = await codeFrom(OTHER_ENTRIES);

    expect(code).toContain('ioredis');
    expect(code).not.toMatch(/import\.meta|createRequire|__dirname|__filename|node:fs|require\.resolve/);
  });

  it('loads ioredis no sooner than a module needs it', async () => {
    const program = `
      require('nestjs-delay-queue');
      console.log(Object.keys(require.cache).filter((path) => path.includes('/ioredis/')).length);
    `;
    expect(await runProgram(process.execPath, ['-e', program], { cwd: await installOnNest12() })).toBe('0');
  });

  it('loads nothing of the dashboard unless it is imported', async () => {
    const own = 'x-delay-queue-dashboard';

    expect(await codeFrom(['dashboard/index'])).toContain(own);
    expect(await codeFrom(OTHER_ENTRIES)).not.toContain(own);
  });

  it('is of the version that it tells', async () => {
    expect(VERSION).toBe((await readJson<{ version: string }>('package.json')).version);
  });
});

/** What can be imported beside the dashboard. */
const OTHER_ENTRIES = [
  'index',
  'admin/index',
  'gateway/index',
  'outbox/index',
  'outbox/knex/index',
  'outbox/drizzle/index',
  'outbox/kysely/index',
  'outbox/nestjs-cls/index',
  'outbox/typeorm/index',
  'testing/index',
  'opentelemetry/index',
  'prometheus/index',
  'terminus/index',
];

/** The code of some entries, and of all that they load. */
async function codeFrom(entries: readonly string[]): Promise<string> {
  const code = new Map<string, string>();
  const load = async (path: string): Promise<void> => {
    if (code.has(path)) return;
    const text = await readFile(path, 'utf8');
    code.set(path, text);
    for (const [, other = ''] of text.matchAll(/(?:from|import|require\() ?["'](\.[^"']+)["']/g)) {
      await load(join(dirname(path), other));
    }
  };
  for (const entry of entries) await load(`dist/esm/${entry}.js`);
  return [...code.values()].join('\n');
}

async function codeOf(files: readonly string[]): Promise<string> {
  const code = files.filter((path) => path.startsWith('dist/cjs/') && path.endsWith('.js'));
  return (await Promise.all(code.map(async (path) => readFile(path, 'utf8')))).join('\n');
}

/** All strings in a part of a manifest. */
function pathsIn(part: unknown): string[] {
  return typeof part === 'string' ? [part] : Object.values(part as object).flatMap(pathsIn);
}

const STYLES: readonly AppStyle[] = [
  { type: 'commonjs', compilerOptions: { module: 'nodenext' } },
  { type: 'module', compilerOptions: { module: 'nodenext' } },
];

describe('an application that has installed the packed library', () => {
  let folder: string;
  const compilations = new Map<AppStyle, Promise<string>>();

  beforeAll(async () => {
    folder = await installOnNest12();
  });

  async function compiled(style: AppStyle): Promise<string> {
    const compilation = compilations.get(style) ?? compileApps(folder, style);
    compilations.set(style, compilation);
    return compilation;
  }

  it.concurrent.each(STYLES)(
    'compiles, handles a message and has one refused: type $type',
    async (style) => {
      const app = await compiled(style);
      for (const redis of [inject('redisUrl'), 'embedded:']) {
        expect(await runGreeter(app, { redis }), redis).toEqual(greeterOutput(style.type));
      }
    },
    120_000,
  );

  it.concurrent.each(STYLES)(
    'has a testing kit, which leaves nothing open: type $type',
    async (style) => {
      const output = await runProgram(process.execPath, ['month.js'], { cwd: await compiled(style), timeout: 120_000 });

      expect(output).toBe('remembered Ada after 30 days');
    },
    120_000,
  );
});
