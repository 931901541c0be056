import { SetupFailure } from './failure.mjs';
import { tryToInstall } from './optional-install.mjs';
import { findOnPath } from './redis-binary.mjs';

const COMMANDS = ['chromium', 'chromium-browser', 'google-chrome'];

const PACKAGE_MANAGERS = [
  {
    command: 'apt-get',
    asRoot: true,
    environment: { DEBIAN_FRONTEND: 'noninteractive' },
    before: ['apt-get', 'update'],
    install: [
      'apt-get',
      '-o',
      'DPkg::Lock::Timeout=120',
      'install',
      '-y',
      '--no-install-recommends',
      'chromium',
      // Latin letters as of the documentation's pictures, and Chinese ones.
      'fonts-inter',
      'fonts-wqy-zenhei',
      'fonts-dejavu-core',
    ],
  },
  { command: 'apk', asRoot: true, install: ['apk', 'add', 'chromium', 'font-inter', 'font-dejavu', 'font-wqy-zenhei'] },
  {
    command: 'dnf',
    asRoot: true,
    install: ['dnf', 'install', '-y', 'chromium', 'dejavu-sans-fonts', 'wqy-zenhei-fonts'],
  },
];

/**
 * The browser that the pages of the dashboard are tested in.
 *
 * @returns {string} its path
 * @throws {SetupFailure} if it is not installed
 */
export function chromiumPath() {
  const path = COMMANDS.map(findOnPath).find(Boolean);
  if (path) return path;
  throw new SetupFailure('Chromium is not installed. On Debian and Ubuntu: sudo apt-get install chromium');
}

/** Installs it if it is missing and this user may do so. Without it only the tests of the pages fail, so this does not. */
export async function tryToInstallChromium() {
  await tryToInstall('Chromium', chromiumPath, PACKAGE_MANAGERS);
}
