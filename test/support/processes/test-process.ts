import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { until } from '../waiting.js';
import { noteProcess } from './left-processes.js';

/** A Node.js program that runs as a process under test, with a channel to this one. */
export class TestProcess {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  #hasClosed = false;
  #output = '';

  /**
   * @param program path of a JavaScript file
   * @param env beside the variables of this process
   */
  constructor(
    readonly name: string,
    program: string,
    args: readonly string[] = [],
    env: NodeJS.ProcessEnv = {},
  ) {
    this.#child = fork(program, args, { stdio: 'pipe', env: { ...process.env, ...env } });
    noteProcess(this.#child);
    // Only when it is closed, and not yet when it has ended, all is here that it has written.
    this.#closed = once(this.#child, 'close').then(() => (this.#hasClosed = true));
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    }
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** What it wrote to its standard output and error. */
  get output(): string {
    return this.#output;
  }

  get running(): boolean {
    return this.ending === undefined;
  }

  /** How it ended: its exit code, or the signal that ended it; `undefined` while it runs. */
  get ending(): number | NodeJS.Signals | undefined {
    return this.#child.exitCode ?? this.#child.signalCode ?? undefined;
  }

  /** Waits until it has written a line with this text; resolves with the line. */
  async printed(text: string): Promise<string> {
    try {
      return await until(`${this.name} to print '${text}'`, () => {
        // The last line is not yet whole.
        const line = this.#output
          .split('\n')
          .slice(0, -1)
          .find((each) => each.includes(text));
        if (line === undefined && this.#hasClosed) throw new Error(`${this.name} has ended without '${text}'`);
        return line;
      });
    } catch (error) {
      throw new Error(`${(error as Error).message}. It printed:\n${this.#output}`, { cause: error });
    }
  }

  onMessage(listener: (message: unknown) => void): void {
    this.#child.on('message', listener);
  }

  send(message: object | string): void {
    if (this.#child.connected) this.#child.send(message);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Waits until it has ended by itself. */
  async exit(): Promise<void> {
    await this.#closed;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.exit();
  }
}
