import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

/** How a program is started. */
export interface ProgramStart {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly folder: string;
  /** In addition to those of this process. */
  readonly env: Readonly<Record<string, string>>;
}

/** How long a program may take to end by itself, in milliseconds. */
const GRACE = 2000;

/**
 * Runs a command such that it ends with us, even if we are killed: a shell in the background waits until our end of its pipe is closed, and
 * ends the command unless it was told that there is nothing to end any more.
 */
const LEASH = 'exec 3<&0; { read -r ended || kill -9 $$; } <&3 >/dev/null 2>&1 & exec "$@" </dev/null 3<&-';

/** A program in another language, as a process. */
export class Program {
  readonly name: string;
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  /** What it writes is printed here too, behind its name. */
  constructor({ name, command, folder, env }: ProgramStart) {
    this.name = name;
    this.#child = spawn('sh', ['-c', LEASH, 'sh', ...command], {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    // The shell in the background may end first, and then nobody reads.
    this.#child.stdin?.on('error', () => {});
    this.#ended = once(this.#child, 'exit').then(() => this.#child.stdin?.end('ended\n'));
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream) createInterface(stream).on('line', (line) => this.#hear(line));
    }
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Tells it to end, and ends it if it does not. */
  async end(): Promise<void> {
    if (!this.hasEnded) this.#child.kill('SIGTERM');
    const left = new AbortController();
    await Promise.race([this.#ended, sleep(GRACE, undefined, { signal: left.signal }).catch(() => {})]);
    left.abort();
    await this.kill();
  }

  /** Ends it at once, as a crash would. */
  async kill(): Promise<void> {
    if (!this.hasEnded) this.#child.kill('SIGKILL');
    await this.#ended;
  }

  #hear(line: string): void {
    this.lines.push(line);
    console.log(`    ${this.name}: ${line}`);
  }
}
