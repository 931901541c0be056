import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { Interruption, SetupFailure, exitCodeOf } from './failure.mjs';

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const PARENT = process.ppid;
const UNDER_NPM = process.env.npm_lifecycle_event !== undefined;

const END_WITH_PARENT = fileURLToPath(new URL('./end-with-parent.mjs', import.meta.url));

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A command of a dependency, relative to the root folder. */
export function localBin(name) {
  return `node_modules/.bin/${name}`;
}

/**
 * Runs a command to its end, by default in the root folder, and collects what it writes to pipes. The first stop signal that
 * this process gets meanwhile is passed on to the command and its children, and named in the result. They have their own
 * process group, so that a terminal's Ctrl-C reaches them once, through this process; npm repeats the signal, which is ignored.
 *
 * @param {import('node:child_process').SpawnOptions & { end?: AbortSignal }} options of `spawn`; `end` stops the command
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
    // The command has just ended, or runs as root through sudo; then we wait for its end.
    if (error.code !== 'ESRCH' && error.code !== 'EPERM') throw error;
  }
}

/** Whether npm's shell around this script has ended: npm sends SIGTERM to that shell, which may not pass it on. */
function isOrphan() {
  return UNDER_NPM && process.ppid !== PARENT;
}

/**
 * Runs a compiled application of this repository to its end, on a Redis. It ends when this process ends, in whatever way.
 *
 * @param options as for {@link run}, and `stdin`: whether it may read this process's standard input
 */
export async function runApplication(entry, args, { redisUrl, stdin = false, ...options }) {
  return run(process.execPath, ['--import', END_WITH_PARENT, entry, ...args], {
    ...options,
    env: { ...process.env, REDIS_URL: redisUrl },
    stdio: [stdin ? 'inherit' : 'ignore', 'inherit', 'inherit', 'ipc'],
  });
}

/**
 * Runs a command whose output matters only if it fails.
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
