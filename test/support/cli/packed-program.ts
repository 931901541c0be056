import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, readFile, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { onceARun } from '../package/once-a-run.js';
import { packLibrary } from '../package/packed-library.js';
import { runProgram } from '../package/run-program.js';
import { noteProcess } from '../processes/left-processes.js';
import type { Outcome } from './run-in-process.js';

/** What the program needs beside its own package. npm installs the other peers with it, and it loads none of them. */
const NEEDED = ['ioredis', 'rxjs'];

/** Longest that a command may take that ends by itself, in milliseconds; far above what any takes. */
const LIMIT = 30_000;

interface Settings {
  readonly env?: NodeJS.ProcessEnv;
  /** What is piped into it; `undefined`: nothing. */
  readonly input?: string;
  /** Called once it runs. */
  readonly during?: (process: RunningProgram) => void | Promise<void>;
  /** Longest that it may take, in milliseconds. */
  readonly limit?: number;
}

/** A command under way. */
export interface RunningProgram {
  readonly child: ChildProcess;
  /** What it has printed so far. */
  readonly stdout: string;
  readonly stderr: string;
}

/** The program as a user of the package has it. */
export class PackedProgram {
  /** Its file, which a shell can run by its first line. */
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  async run(args: readonly string[], settings: Settings = {}): Promise<Outcome> {
    return this.runAs(this.path, args, settings);
  }

  /** Runs it in a shell, where it is called `nestjs-delay-queue`. */
  async shell(line: string, settings: Settings = {}): Promise<Outcome> {
    // A bash whose input is a socket takes itself for a remote one, and would read what its user has set up.
    return this.runAs('bash', ['--norc', '-c', `nestjs-delay-queue() { '${this.path}' "$@"; }\n${line}`], settings);
  }

  /** Runs it on a terminal, which has one output. Its input is echoed there. */
  async onTerminal(args: readonly string[], settings: Settings = {}): Promise<Outcome> {
    const words = [this.path, ...args].map((word) => `'${word}'`);
    return this.runAs('script', ['-qec', words.join(' '), '/dev/null'], settings);
  }

  async runAs(
    file: string,
    args: readonly string[],
    { env = {}, input, during, limit = LIMIT }: Settings,
  ): Promise<Outcome> {
    const child = spawn(file, args, {
      env: { PATH: process.env['PATH'], ...env },
      timeout: limit,
      killSignal: 'SIGKILL',
    });
    noteProcess(child);
    const running = { child, stdout: '', stderr: '' };
    child.stdout.on('data', (chunk: Buffer) => (running.stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (running.stderr += chunk.toString()));
    if (input !== undefined) child.stdin.write(input);
    if (file !== 'script') child.stdin.end();
    const closed = new Promise<number>((done) => child.once('close', (code) => done(code ?? -1)));
    await during?.(running);
    return { code: await closed, stdout: running.stdout, stderr: running.stderr };
  }
}

/** The packed library beside what its program needs, and nothing else. */
export async function installProgram(): Promise<PackedProgram> {
  const { tarball } = await packLibrary();
  const folder = await onceARun('program', async (target) => {
    await runProgram('tar', ['-xzf', tarball], { cwd: target });
    await mkdir(join(target, 'node_modules'));
    for (const name of NEEDED) await symlink(resolve('node_modules', name), join(target, 'node_modules', name));
  });
  const manifest = JSON.parse(await readFile(join(folder, 'package/package.json'), 'utf8')) as {
    bin: Record<string, string>;
  };
  return new PackedProgram(join(folder, 'package', manifest.bin['nestjs-delay-queue'] ?? ''));
}
