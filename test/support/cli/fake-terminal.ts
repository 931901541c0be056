import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import type { Terminal } from '../../../lib/cli/terminal.js';

export interface FakeTerminalSettings {
  /** Whether somebody sits at it. */
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** What is typed, or piped into it. */
  readonly input?: string;
  /** Ctrl-C is pressed once this is printed. */
  readonly interruptAt?: string;
}

function hasColors(): boolean {
  return true;
}

/** What a command of the command line reads and writes in a test. */
export class FakeTerminal extends EventEmitter implements Terminal {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly env: Readonly<Record<string, string>>;
  readonly #written = { stdout: '', stderr: '' };

  readonly #interruptAt: string | undefined;

  constructor({ isTTY = false, columns = 200, env = {}, input, interruptAt }: FakeTerminalSettings = {}) {
    super();
    this.#interruptAt = interruptAt;
    const stdin = new PassThrough();
    if (input !== undefined) stdin.write(input);
    if (!isTTY) stdin.end();
    this.stdin = Object.assign(stdin, { isTTY }) as unknown as NodeJS.ReadStream;
    this.stdout = this.#output('stdout', isTTY, columns);
    this.stderr = this.#output('stderr', isTTY, columns);
    this.env = env;
  }

  get output(): string {
    return this.#written.stdout;
  }

  get errors(): string {
    return this.#written.stderr;
  }

  #output(name: 'stdout' | 'stderr', isTTY: boolean, columns: number): NodeJS.WriteStream {
    const stream = new PassThrough();
    stream.on('data', (chunk: Buffer) => {
      this.#written[name] += chunk.toString();
      if (this.#interruptAt !== undefined && this.#written[name].includes(this.#interruptAt)) this.emit('SIGINT');
    });
    return Object.assign(stream, { isTTY, columns, rows: 40, hasColors }) as unknown as NodeJS.WriteStream;
  }
}
