import { dirname, join, relative } from 'node:path';
import { readdirSync } from 'node:fs';
import { rolldown } from 'rolldown';
import { describe, expect, it } from 'vitest';

/** What decorators may load: themselves, the parts of messages, and the ground. */
const ALLOWED = ['checks', 'errors', 'messages', 'middleware', 'nest/decorators', 'time'];

/** The folders of lib whose modules are loaded with a file. Imports of types load nothing. */
async function foldersLoadedBy(file: string): Promise<string[]> {
  const bundle = await rolldown({ input: file, external: /^[^./]/, treeshake: false, platform: 'node' });
  try {
    const { output } = await bundle.generate();
    const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []));
    // The bundler adds a module of its own, whose id is not a path.
    const folders = modules.filter((id) => !id.startsWith('\0')).map((id) => dirname(relative('lib', id)));
    return [...new Set(folders)].toSorted();
  } finally {
    await bundle.close();
  }
}

const files = readdirSync('lib/nest/decorators').map((name) => join('lib/nest/decorators', name));

describe('a decorator or a token', () => {
  it.each(files)('loads nothing of the runtime: %s', async (file) => {
    const folders = await foldersLoadedBy(file);
    expect(folders).toContain('nest/decorators');
    expect(folders.filter((folder) => !ALLOWED.includes(folder))).toEqual([]);
  });

  it('would be seen to load it', async () => {
    expect(await foldersLoadedBy('lib/composition/delay-queue.connection.ts')).toEqual(
      expect.arrayContaining(['admin', 'consumer', 'events', 'monitoring', 'producer', 'store']),
    );
  });
});
