import { spawnSync } from 'node:child_process';

/** How the commands of a package manager begin here; undefined if this user may not run them. */
export function prefixFor({ asRoot, environment = {} }) {
  const assignments = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  if (!asRoot || process.getuid() === 0) return ['env', ...assignments];
  const allowed = spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0;
  return allowed ? ['sudo', '-n', 'env', ...assignments] : undefined;
}
