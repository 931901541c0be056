import { readdirSync } from 'node:fs';
import { extname, join } from 'node:path';
import { SetupFailure } from './failure.mjs';
import { tryToInstall } from './optional-install.mjs';
import { findOnPath } from './redis-binary.mjs';
import { ROOT } from './run.mjs';

/**
 * What the clients of the gateway run with, what counts instructions, and the broker that the bridge is tried with: by the command that each is called by, the packages
 * of Debian, Alpine and Fedora.
 */
const PROGRAMS = {
  curl: { debian: ['curl'], alpine: ['curl'], fedora: ['curl'] },
  jq: { debian: ['jq'], alpine: ['jq'], fedora: ['jq'] },
  go: { debian: ['golang-go'], alpine: ['go'], fedora: ['golang'] },
  php: {
    debian: ['php-cli'],
    alpine: ['php', 'php-pcntl', 'php-posix', 'php-openssl'],
    fedora: ['php-cli', 'php-process'],
  },
  mypy: { debian: ['mypy'], alpine: ['py3-mypy'], fedora: ['python3-mypy'] },
  python3: { debian: ['python3'], alpine: ['python3'], fedora: ['python3'] },
  valgrind: { debian: ['valgrind'], alpine: ['valgrind'], fedora: ['valgrind'] },
  'rabbitmq-server': { debian: ['rabbitmq-server'], alpine: ['rabbitmq-server'], fedora: ['rabbitmq-server'] },
};

/** What runs the programs of a sample, by how their names end. */
const RUN_BY = { '.py': 'python3', '.php': 'php', '.go': 'go' };

/**
 * Where a program is.
 *
 * @param {string} command such as `jq`
 * @returns {string} its path
 * @throws {SetupFailure} if it is not installed
 */
export function programPath(command) {
  const path = findOnPath(command);
  if (path) return path;
  const packages = PROGRAMS[command]?.debian ?? [command];
  throw new SetupFailure(
    `${command} is not installed. On Debian and Ubuntu: sudo apt-get install ${packages.join(' ')}`,
  );
}

/**
 * Installs those that are missing, if this user may. Without one only the tests that need it fail, so this does not.
 *
 * @param {readonly string[]} commands such as `php`; all by default
 */
export async function tryToInstallPrograms(commands = Object.keys(PROGRAMS)) {
  for (const command of commands) {
    await tryToInstall(command, () => programPath(command), managersOf(PROGRAMS[command]));
  }
}

/**
 * Sees to it that what runs the programs of a sample is installed; for most samples that is nothing besides Node.js.
 *
 * @param {string} sample the name of its folder
 * @throws {SetupFailure} if something is missing and cannot be installed
 */
export async function ensureProgramsOf(sample) {
  const ends = new Set(readdirSync(join(ROOT, 'sample', sample), { recursive: true }).map((file) => extname(file)));
  const commands = Object.entries(RUN_BY).flatMap(([end, command]) => (ends.has(end) ? [command] : []));
  await tryToInstallPrograms(commands);
  commands.forEach(programPath);
}

function managersOf({ debian, alpine, fedora }) {
  return [
    {
      command: 'apt-get',
      asRoot: true,
      // The port mapper of Erlang may be started by the installation, and would listen everywhere.
      environment: { DEBIAN_FRONTEND: 'noninteractive', ERL_EPMD_ADDRESS: '127.0.0.1' },
      before: ['apt-get', 'update'],
      install: ['apt-get', '-o', 'DPkg::Lock::Timeout=120', 'install', '-y', '--no-install-recommends', ...debian],
    },
    { command: 'apk', asRoot: true, install: ['apk', 'add', ...alpine] },
    { command: 'dnf', asRoot: true, install: ['dnf', 'install', '-y', ...fedora] },
  ];
}
