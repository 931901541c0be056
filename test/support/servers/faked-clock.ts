import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The variant for programs with several threads. */
const LIBRARY = 'faketime/libfaketimeMT.so.1';

/**
 * The environment of a server whose time of day is not the machine's. Its timers go by the monotonic clock, which is not faked.
 *
 * @param ahead how far it is ahead, in milliseconds
 * @throws if faketime is not installed
 */
export function fakedClock(ahead: number): NodeJS.ProcessEnv {
  const folders = ['/usr/lib', ...readdirSync('/usr/lib').map((name) => join('/usr/lib', name))];
  const library = folders.map((folder) => join(folder, LIBRARY)).find((path) => existsSync(path));
  if (library === undefined) throw new Error('faketime is not installed: apt-get install faketime');
  // Debian's Redis uses jemalloc, which asks for the time before faketime is ready; with the allocator of libc before it, it is not used.
  return { LD_PRELOAD: `${library} libc.so.6`, FAKETIME: `+${ahead / 1000}`, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
}
