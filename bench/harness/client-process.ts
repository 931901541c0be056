import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { FINISH, type Order, type Report, type RoleName, type Roles } from '../client/protocol.js';

const PROGRAM = fileURLToPath(new URL('../client/main.js', import.meta.url));

/** How much output of a failed process is shown, in characters. */
const SHOWN_OUTPUT = 2000;

type ReportOf<K extends Report['kind']> = Extract<Report, { kind: K }>;

/** A client process as the benchmark sees it. */
export class ClientProcess<R extends RoleName> {
  /** Resolves when its preparations are over; rejects if it failed before. */
  readonly ready: Promise<unknown>;
  /** Rejects if the process failed. */
  readonly result: Promise<Roles[R]['result']>;
  readonly #child: ChildProcess;
  readonly #name: string;
  #handled = 0;
  #output = '';

  constructor(order: Order<R>) {
    this.#name = `${order.contender} (${order.role})`;
    this.#child = fork(PROGRAM, [JSON.stringify(order)], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, NODE_ENV: 'production' },
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.#output = (this.#output + chunk.toString()).slice(-SHOWN_OUTPUT)));
    }
    this.ready = this.#first('ready');
    this.result = this.#first('result').then(({ result }) => result);
    ignoreFailure(this.ready, this.result);
    this.#child.on('message', (report: Report) => {
      if (report.kind === 'handled') this.#handled = report.count;
      if (report.kind === 'failed') this.#output += report.reason;
    });
  }

  /** Messages handled so far, according to its last report. */
  get handled(): number {
    return this.#handled;
  }

  /** @param listener called at each report */
  onReport(listener: () => void): void {
    this.#child.on('message', listener);
  }

  /** Tells the process to finish. */
  finish(): Promise<Roles[R]['result']> {
    this.#child.send(FINISH);
    return this.result;
  }

  /** Kills the process, and resolves once it has ended. */
  async end(): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return;
    const closed = once(this.#child, 'close');
    this.#child.kill('SIGKILL');
    await closed;
  }

  #first<K extends Report['kind']>(kind: K): Promise<ReportOf<K>> {
    return new Promise((resolve, reject) => {
      this.#child.on('message', (report: Report) => {
        if (isOfKind(report, kind)) resolve(report);
      });
      // At 'close' the streams have ended too, so the output is complete.
      this.#child.on('close', () => {
        reject(new Error(`${this.#name} ended without a result.\n${this.#output.trim()}`));
      });
    });
  }
}

function isOfKind<K extends Report['kind']>(report: Report, kind: K): report is ReportOf<K> {
  return report.kind === kind;
}

/** A caller that does not wait for a promise need not handle its failure. */
function ignoreFailure(...promises: Promise<unknown>[]): void {
  for (const promise of promises) promise.catch(() => {});
}
