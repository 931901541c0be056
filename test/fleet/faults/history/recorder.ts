import { openSync, writeSync } from 'node:fs';
import type { ProcessRecord } from './records.js';

type Unstamped<T> = T extends unknown ? Omit<T, 'at' | 'process'> : never;

/** Writes one line per event of this process to a file, synchronously, so that the lines survive a SIGKILL. */
export class Recorder {
  readonly #file: number;

  constructor(
    path: string,
    readonly process: string,
  ) {
    this.#file = openSync(path, 'a');
  }

  record(record: Unstamped<ProcessRecord>): void {
    writeSync(this.#file, `${JSON.stringify({ at: Date.now(), process: this.process, ...record })}\n`);
  }
}
