import { SetupFailure } from './failure.mjs';
import { prefixFor } from './package-manager.mjs';
import { NEEDED_VERSION, findOnPath, findRedisServers } from './redis-binary.mjs';
import { runQuietly } from './run.mjs';

/**
 * Debian's package starts a system service on port 6379, now and at every boot. We want neither. The first two variables keep
 * the package's scripts from starting it under System V's init, whose scripts start nothing in runlevel 1, and under systemd,
 * whose `systemctl` then leaves the running manager alone.
 */
const APT_ENVIRONMENT = { RUNLEVEL: '1', SYSTEMD_OFFLINE: '1', DEBIAN_FRONTEND: 'noninteractive' };

const PACKAGE_MANAGERS = [
  {
    platform: 'Debian, Ubuntu',
    command: 'apt-get',
    asRoot: true,
    environment: APT_ENVIRONMENT,
    before: ['apt-get', 'update'],
    choices: [['apt-get', '-o', 'DPkg::Lock::Timeout=120', 'install', '-y', 'redis-server']],
    after: ['update-rc.d', 'redis-server', 'disable'],
    advice: 'sudo apt-get update && sudo apt-get install redis-server',
  },
  {
    platform: 'Alpine',
    command: 'apk',
    asRoot: true,
    choices: [
      ['apk', 'add', 'redis'],
      ['apk', 'add', 'valkey'],
    ],
    advice: 'sudo apk add redis',
  },
  {
    platform: 'Fedora, RHEL',
    command: 'dnf',
    asRoot: true,
    choices: [
      ['dnf', 'install', '-y', 'valkey'],
      ['dnf', 'install', '-y', 'redis'],
    ],
    advice: 'sudo dnf install valkey   (older releases: redis)',
  },
  {
    platform: 'macOS',
    command: 'brew',
    asRoot: false,
    choices: [['brew', 'install', 'redis']],
    advice: 'brew install redis',
  },
];

/** Installs Redis with the platform's package manager, if this user may do so. */
export async function installRedis() {
  const obstacles = [];
  for (const manager of PACKAGE_MANAGERS.filter(({ command }) => findOnPath(command))) {
    const prefix = prefixFor(manager);
    if (!prefix) {
      obstacles.push(`${manager.command}: this user is not root, and "sudo -n" is refused.`);
      continue;
    }
    for (const choice of manager.choices) {
      try {
        const server = await tryChoice(manager, choice, prefix);
        if (server) return server;
      } catch (error) {
        if (!(error instanceof SetupFailure)) throw error;
        obstacles.push(error.message);
      }
    }
  }
  throw new SetupFailure(
    [...obstacles, '', whatIsMissing(), 'Choose one, then run this again:', ...advice()].join('\n'),
  );
}

/** Only the installation itself has to succeed: for example, partly outdated package lists may be good enough. */
async function tryChoice({ before, after }, choice, prefix) {
  const step = (command) => runQuietly(prefix[0], [...prefix.slice(1), ...command]);
  console.log(`${whatIsMissing()} Installing one with "${choice.join(' ')}" …`);
  if (before) await step(before).catch(ignoreFailure);
  await step(choice);
  if (after) await step(after).catch(ignoreFailure);
  return findRedisServers().usable[0];
}

function ignoreFailure(error) {
  if (!(error instanceof SetupFailure)) throw error;
}

function whatIsMissing() {
  const { unusable } = findRedisServers();
  const found = unusable.length > 0 ? ` Not usable: ${unusable.join(', ')}.` : '';
  return `No Redis found: REDIS_URL is not set, and PATH has no redis-server or valkey-server from ${NEEDED_VERSION} on.${found}`;
}

function advice() {
  const rows = PACKAGE_MANAGERS.map(({ platform, advice: command }) => [platform, command]);
  rows.push(['Docker', 'docker run --rm -p 6379:6379 redis:7']);
  rows.push(['running Redis', 'REDIS_URL=redis://host:6379 npm start']);
  return rows.map(([platform, command]) => `  ${platform.padEnd(16)}${command}`);
}
