import { SetupFailure } from './failure.mjs';
import { tryToInstall } from './optional-install.mjs';
import { findOnPath } from './redis-binary.mjs';

/** What the clients of the gateway run with: by the command that each is called by, the packages of Debian, Alpine and Fedora. */
const LANGUAGES = {
  curl: { debian: ['curl'], alpine: ['curl'], fedora: ['curl'] },
  jq: { debian: ['jq'], alpine: ['jq'], fedora: ['jq'] },
  mypy: { debian: ['mypy'], alpine: ['py3-mypy'], fedora: ['python3-mypy'] },
  python3: { debian: ['python3'], alpine: ['python3'], fedora: ['python3'] },
};

/**
 * Where a language's command is.
 *
 * @param {string} command such as `jq`
 * @returns {string} its path
 * @throws {SetupFailure} if it is not installed
 */
export function languagePath(command) {
  const path = findOnPath(command);
  if (path) return path;
  const packages = LANGUAGES[command]?.debian ?? [command];
  throw new SetupFailure(
    `${command} is not installed. On Debian and Ubuntu: sudo apt-get install ${packages.join(' ')}`,
  );
}

/** Installs those that are missing, if this user may. Without one only the tests of its client fail, so this does not. */
export async function tryToInstallLanguages() {
  for (const [command, packages] of Object.entries(LANGUAGES)) {
    await tryToInstall(command, () => languagePath(command), managersOf(packages));
  }
}

function managersOf({ debian, alpine, fedora }) {
  return [
    {
      command: 'apt-get',
      asRoot: true,
      environment: { DEBIAN_FRONTEND: 'noninteractive' },
      before: ['apt-get', 'update'],
      install: ['apt-get', '-o', 'DPkg::Lock::Timeout=120', 'install', '-y', '--no-install-recommends', ...debian],
    },
    { command: 'apk', asRoot: true, install: ['apk', 'add', ...alpine] },
    { command: 'dnf', asRoot: true, install: ['dnf', 'install', '-y', ...fedora] },
  ];
}
