import { existsSync, readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scriptNames } from '../support/docs/library.js';
import { inBackticks, readDocument, section, table } from '../support/docs/markdown.js';
import { classesIn, declaredIn, filesIn } from '../support/docs/source.js';

const architecture = readDocument('docs/internals/architecture.md');
const records = filesIn('docs/decisions').filter((path) => basename(path) !== 'README.md');

describe('docs/internals/architecture.md', () => {
  it('names every folder of the library', () => {
    const named = inBackticks(section(architecture, 'Folders'));
    for (const folder of ['lib', 'lib/nest', 'lib/consumer', 'lib/store', 'lib/engines', 'lib/engines/redis']) {
      const folders = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
      for (const { name } of folders) expect(named).toContain(`${folder}/${name}`);
    }
  });

  it('says what every class of the runtime is responsible for', () => {
    const rows = table(section(architecture, 'What each class is responsible for'), 'class');
    for (const name of [...classesIn('lib/consumer'), ...classesIn('lib/producer')])
      expect(rows.keys()).toContain(name);
  });

  it('names only what exists', () => {
    const rows = table(section(architecture, 'What each class is responsible for'), 'class');
    const sources = readdirSync('lib', { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
    const declared = new Set(sources.flatMap((path) => declaredIn(readDocument(`lib/${path}`))));
    expect([...rows.keys()].filter((name) => !declared.has(name))).toEqual([]);
    const paths = Array.from(
      section(architecture, 'Folders').matchAll(/`(\w+\/[\w./-]+\.\w+)`/g),
      ([, path = '']) => path,
    );
    expect(paths.length).toBeGreaterThan(8);
    expect(paths.filter((path) => !existsSync(`lib/${path}`))).toEqual([]);
  });

  it('and where.md answer with files that exist', () => {
    const files = Array.from(
      readDocument('docs/internals/where.md').matchAll(/`(\w+\/[\w./-]+\.\w+)`/g),
      ([, file]) => file,
    );
    expect(files).toHaveLength(42);
    expect(files.filter((file) => !existsSync(`lib/${file}`))).toEqual([]);
  });

  it('says what every class of the testing kit is responsible for', () => {
    const part = section(architecture, 'What each class is responsible for');
    const rows = table(part.slice(part.indexOf('The testing kit')), 'class');
    expect([...rows.keys()].toSorted()).toEqual(classesIn('lib/testing').toSorted());
  });

  it('says of every script why it can be repeated', () => {
    const named = inBackticks(section(architecture, 'Repeated calls'));
    for (const script of scriptNames()) expect(named).toContain(script);
  });
});

describe('docs/decisions', () => {
  it('has an index of every record with its title', () => {
    const index = readDocument('docs/decisions/README.md');
    const titles = records.map((path) => {
      const [, number = '', title = ''] = /^# (\d{4}) (.+)$/m.exec(readDocument(path)) ?? [];
      expect(basename(path)).toMatch(new RegExp(`^${number}-[a-z0-9-]+\\.md$`));
      return { link: `[${number}](${basename(path)})`, title };
    });
    const rows = Array.from(index.matchAll(/^\| (\[\d{4}\]\([^)]+\)) +\| (.+?) +\|$/gm), ([, link, title]) => ({
      link,
      title,
    }));
    const inOrder = rows.toSorted((a, b) => ((a.link ?? '') < (b.link ?? '') ? -1 : 1));
    expect(inOrder).toEqual(titles);
  });

  it('has records of one form, each short and with a status', () => {
    const parts = /^## Context,## Decision(,## Alternatives)?,## Consequences?$/;
    for (const path of records) {
      const lines = readDocument(path).split('\n');
      expect(lines.filter((line) => line.startsWith('## ')).join(','), path).toMatch(parts);
      expect(lines[2], path).toMatch(/^Status: (accepted|superseded by \d{4})$/);
      expect(lines.length > 61 ? path : 'short').toBe('short');
    }
  });
});
