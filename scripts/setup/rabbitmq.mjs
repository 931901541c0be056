import { existsSync } from 'node:fs';

import { SetupFailure } from './failure.mjs';
import { tryToInstall } from './optional-install.mjs';

/** The program itself: the command on PATH is Debian's wrapper, which runs it as another user, and only with root's rights. */
const PROGRAMS = [
  '/usr/lib/rabbitmq/bin/rabbitmq-server',
  '/usr/libexec/rabbitmq/rabbitmq-server',
  '/opt/homebrew/sbin/rabbitmq-server',
];

const PACKAGE_MANAGERS = [
  {
    command: 'apt-get',
    asRoot: true,
    // Debian's package starts a service, now and at every boot. See redis-install.mjs for the first two variables.
    environment: { RUNLEVEL: '1', SYSTEMD_OFFLINE: '1', DEBIAN_FRONTEND: 'noninteractive' },
    before: ['apt-get', 'update'],
    install: [
      'apt-get',
      '-o',
      'DPkg::Lock::Timeout=120',
      'install',
      '-y',
      '--no-install-recommends',
      'rabbitmq-server',
    ],
    after: ['update-rc.d', 'rabbitmq-server', 'disable'],
  },
];

/**
 * The program that starts a RabbitMQ.
 *
 * @returns {string} its path
 * @throws {SetupFailure} if it is not installed
 */
export function rabbitmqServer() {
  const program = PROGRAMS.find(existsSync);
  if (program) return program;
  throw new SetupFailure(
    `RabbitMQ is not installed: no ${PROGRAMS.join(', ')}. On Debian and Ubuntu: sudo apt-get install rabbitmq-server`,
  );
}

/** Installs it if it is missing and this user may do so. Without it only the tests with RabbitMQ fail, so this does not. */
export async function tryToInstallRabbitmq() {
  await tryToInstall('RabbitMQ', rabbitmqServer, PACKAGE_MANAGERS);
}
