import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { anchors, DOCUMENTS, links, readDocument } from '../support/docs/markdown.js';

const OF_CLIENTS = readdirSync('clients', { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.md'))
  .map((path) => join('clients', path));
const PACKED = [...DOCUMENTS, 'CHANGELOG.md', 'SECURITY.md', ...OF_CLIENTS];
const SAMPLES = readdirSync('sample').map((name) => join('sample', name, 'README.md'));

/** A link to a file of this repository or a heading. */
interface OwnLink {
  readonly link: string;
  readonly path: string;
  readonly anchor: string | undefined;
}

describe('the links of the documents', () => {
  let packed: ReadonlySet<string>;

  beforeAll(async () => {
    packed = await packedFiles();
  }, 120_000);

  it.each([...PACKED, 'CONTRIBUTING.md', ...SAMPLES])('lead to files and headings: %s', (document) => {
    expect(ownLinks(document).filter((link) => !leadsSomewhere(link))).toEqual([]);
  });

  // npm shows the README with links into the repository; in node_modules and on a CDN only what is packed is there.
  it.each(PACKED)('lead to what is packed: %s', (document) => {
    expect(packed).toContain(document);
    expect(ownLinks(document).filter(({ path }) => !packed.has(path))).toEqual([]);
  });

  it('are enough to find every document from the README', () => {
    const found = new Set(['README.md']);
    for (const document of found) {
      if (!document.endsWith('.md')) continue;
      for (const { path } of ownLinks(document)) found.add(path);
    }
    expect(PACKED.filter((document) => !found.has(document))).toEqual([]);
  });
});

describe('the check of links', () => {
  it.each([
    { link: 'no-such-file.md', leads: false },
    { link: 'publishing.md', leads: true },
    { link: 'publishing.md#no-such-heading', leads: false },
    { link: 'publishing.md#publish-many-messages', leads: true },
    { link: '#handling', leads: true },
    { link: '#no-such-heading', leads: false },
  ])('finds that $link leads somewhere: $leads', ({ link, leads }) => {
    expect(leadsSomewhere(toOwnLink('docs/reference/handling.md', link))).toBe(leads);
  });
});

async function packedFiles(): Promise<ReadonlySet<string>> {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const { stdout } = await promisify(execFile)('npm', args, { maxBuffer: 2 ** 26 });
  const [{ files } = { files: [] }] = JSON.parse(stdout) as { files: readonly { path: string }[] }[];
  return new Set(files.map(({ path }) => path));
}

function ownLinks(document: string): OwnLink[] {
  const own = links(readDocument(document)).filter((link) => !/^\w+:/.test(link));
  return own.map((link) => toOwnLink(document, link));
}

function toOwnLink(document: string, link: string): OwnLink {
  const [file = '', anchor] = link.split('#');
  return { link, path: file === '' ? document : join(dirname(document), file), anchor };
}

function leadsSomewhere({ path, anchor }: OwnLink): boolean {
  return existsSync(path) && (anchor === undefined || anchors(readDocument(path)).includes(anchor));
}
