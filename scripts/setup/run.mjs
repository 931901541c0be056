import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { Interruption, SetupFailure, exitCodeOf } from './failure.mjs';

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const PARENT = process.ppid;

const END_WITH_PARENT = fileURLToPath(new URL('./end-with-parent.mjs', import.meta.url));

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A command that a dependency brought along, as seen from the root folder. */
export function localBin(name) {
  return `node_modules/.bin/${name}`;
}

/**
 * Runs a command to its end, by default in the root folder, and collects what it writes to pipes. The first stop signal
 * that reaches this process meanwhile is passed on to it and its children, and named in the result. They are a process
 * group of their own, so that a terminal's Ctrl-C reaches them once, from here; npm repeats it, which is left at that.
 *
 * @param {import('node:child_process').SpawnOptions & { end?: AbortSignal }} options of `spawn`; `end`: stops it
 */
export async function run(command, args, { end, ...options } = {}) {
  const child = spawn(command, args, { cwd: ROOT, ...options, detached: true });
  const output = [];
  child.stdout?.on('data', (chunk) => output.push(chunk));
  child.stderr?.on('data', (chunk) => output.push(chunk));

  let stoppedBy;
  const passOn = (signal) => {
    if (stoppedBy) return;
    stoppedBy = signal;
    signalGroup(child.pid, signal);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, passOn);
  const stop = () => passOn('SIGTERM');
  end?.addEventListener('abort', stop);
  const orphanCheck = setInterval(() => isOrphan() && stop(), 500);
  try {
    const [code, signal] = await once(child, 'close');
    return { code: code ?? exitCodeOf(signal), stoppedBy, output: Buffer.concat(output).toString().trimEnd() };
  } finally {
    for (const signal of STOP_SIGNALS) process.off(signal, passOn);
    end?.removeEventListener('abort', stop);
    clearInterval(orphanCheck);
  }
}

function signalGroup(leader, signal) {
  try {
    process.kill(-leader, signal);
  } catch (error) {
    // It has just ended by itself, or runs as root through sudo; then its end is waited for.
    if (error.code !== 'ESRCH' && error.code !== 'EPERM') throw error;
  }
}

/** Whether the shell is gone that npm runs a script in: npm sends its SIGTERM to that shell, which may not pass it on. */
function isOrphan() {
  return process.env.npm_lifecycle_event !== undefined && process.ppid !== PARENT;
}

/**
 * Runs a compiled application of this repository to its end, on a Redis. It ends with this process, however that ends.
 *
 * @param options as of {@link run}, and `stdin`: whether it may read from this process's
 */
export async function runApplication(entry, args, { redisUrl, stdin = false, ...options }) {
  return run(process.execPath, ['--import', END_WITH_PARENT, entry, ...args], {
    ...options,
    env: { ...process.env, REDIS_URL: redisUrl },
    stdio: [stdin ? 'inherit' : 'ignore', 'inherit', 'inherit', 'ipc'],
  });
}

/**
 * Runs a command whose output matters only where it fails.
 *
 * @throws {SetupFailure} with the output
 */
export async function runQuietly(command, args, options = {}) {
  const { code, stoppedBy, output } = await run(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  if (stoppedBy) throw new Interruption(stoppedBy);
  if (code !== 0) {
    throw new SetupFailure(`${output}\n\n"${[command, ...args].join(' ')}" failed with exit code ${code}.`);
  }
}
