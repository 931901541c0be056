import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Command, ConsumerConfig, PublisherConfig } from '../programs/config.js';

/** Where the compiled programs are, seen from the sources and from what they are compiled to alike. */
const PROGRAMS = new URL('../../../dist-test/faults/programs/', import.meta.url);

/** A process under test. */
export class Program {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #ready: Promise<unknown>;
  #output = '';

  constructor(kind: 'consumer' | 'publisher', config: ConsumerConfig | PublisherConfig) {
    this.name = config.name;
    this.#child = fork(fileURLToPath(new URL(`${kind}.js`, PROGRAMS)), [JSON.stringify(config)], { stdio: 'pipe' });
    this.#exited = once(this.#child, 'exit');
    this.#ready = once(this.#child, 'message');
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    }
  }

  /** What it wrote to its standard output and error. */
  get output(): string {
    return this.#output;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async ready(): Promise<void> {
    await Promise.race([
      this.#ready,
      this.#exited.then(() => Promise.reject(new Error(`${this.name} ended early:\n${this.#output}`))),
    ]);
  }

  send(command: Command): void {
    if (this.#child.connected) this.#child.send(command);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async exit(): Promise<void> {
    if (this.running) await this.#exited;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGCONT');
    this.#child.kill('SIGKILL');
    await this.exit();
  }
}
