import { openSync, readFileSync, writeSync } from 'node:fs';
import type { ProcessRecord } from './records.js';

type Unstamped<T> = T extends unknown ? Omit<T, 'at' | 'process'> : never;

/** Writes one line per event of this process to a file, synchronously, so that the lines survive a SIGKILL. */
export class Recorder {
  readonly #file: number;
  readonly #clockBase: number | undefined;

  /** @param clockBase what to add to the monotonic clock; without it, records have the time of day */
  constructor(
    path: string,
    readonly process: string,
    clockBase?: number,
  ) {
    this.#file = openSync(path, 'a');
    this.#clockBase = clockBase;
  }

  record(record: Unstamped<ProcessRecord>): void {
    writeSync(this.#file, `${JSON.stringify({ at: this.#now(), process: this.process, ...record })}\n`);
  }

  /**
   * Records from now on when the process stands still, which a busy host does to it without any fault.
   *
   * @param tolerance how long counts as that, in milliseconds
   */
  watchStandstills(tolerance: number): void {
    let lookedAt = this.#now();
    setInterval(() => {
      const from = lookedAt;
      lookedAt = this.#now();
      if (lookedAt - from >= tolerance) this.record({ kind: 'stood-still', from });
    }, tolerance / 10).unref();
  }

  #now(): number {
    return this.#clockBase === undefined ? Date.now() : this.#clockBase + monotonic();
  }
}

/** The machine's monotonic clock, which all processes share, and which no process's faked time of day changes; milliseconds. */
export function monotonic(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** What a process has recorded. A killed one may have left half a line at the end. */
export function readHistory(path: string): ProcessRecord[] {
  const lines = readFileSync(path, { encoding: 'utf8', flag: 'a+' }).split('\n');
  return lines.slice(0, -1).map((line) => JSON.parse(line) as ProcessRecord);
}
