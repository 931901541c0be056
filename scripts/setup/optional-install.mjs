import { SetupFailure } from './failure.mjs';
import { prefixFor } from './package-manager.mjs';
import { findOnPath } from './redis-binary.mjs';
import { runQuietly } from './run.mjs';

/**
 * Installs what only some tests need, if it is missing and this user may do so. Never fails: without it those tests say so.
 *
 * @param {string} name for people
 * @param {() => unknown} find throws a SetupFailure while it is missing
 * @param managers package managers, and how each installs it
 */
export async function tryToInstall(name, find, managers) {
  try {
    find();
  } catch {
    const manager = managers.find(({ command }) => findOnPath(command));
    const prefix = manager && prefixFor(manager);
    if (!prefix) return;
    console.log(`${name} is not installed. Installing it with "${manager.install.join(' ')}" …`);
    const steps = [manager.before, manager.install, manager.after].filter(Boolean);
    for (const step of steps) await runQuietly(prefix[0], [...prefix.slice(1), ...step]).catch(tell);
  }
}

function tell(error) {
  if (!(error instanceof SetupFailure)) throw error;
  console.error(error.message);
}
