import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { SetupFailure } from './failure.mjs';
import { tryToInstall } from './optional-install.mjs';

/** The variant for programs with several threads. */
const LIBRARY = 'faketime/libfaketimeMT.so.1';

/** Where distributions put libraries; Debian has one folder more, which names the architecture. */
const FOLDERS = ['/usr/lib', '/usr/lib64', '/usr/local/lib'];

const PACKAGE_MANAGERS = [
  {
    command: 'apt-get',
    asRoot: true,
    environment: { DEBIAN_FRONTEND: 'noninteractive' },
    before: ['apt-get', 'update'],
    install: ['apt-get', '-o', 'DPkg::Lock::Timeout=120', 'install', '-y', 'faketime'],
  },
  { command: 'apk', asRoot: true, install: ['apk', 'add', 'libfaketime'] },
  { command: 'dnf', asRoot: true, install: ['dnf', 'install', '-y', 'libfaketime'] },
];

/**
 * The library that fakes the time of day of a process it is preloaded into.
 *
 * @throws {SetupFailure} if it is not installed
 */
export function faketimeLibrary() {
  const folders = FOLDERS.filter(existsSync).flatMap((folder) => [
    folder,
    ...readdirSync(folder).map((name) => join(folder, name)),
  ]);
  const library = folders.map((folder) => join(folder, LIBRARY)).find(existsSync);
  if (library) return library;
  throw new SetupFailure(
    `faketime is not installed: no ${LIBRARY} in ${FOLDERS.join(', ')}. On Debian and Ubuntu: sudo apt-get install faketime`,
  );
}

/** Installs it if it is missing and this user may do so. Without it only the drills of clocks fail, so this does not. */
export async function tryToInstallFaketime() {
  await tryToInstall('faketime', faketimeLibrary, PACKAGE_MANAGERS);
}
