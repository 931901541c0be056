import { closeSync, openSync, readSync, writeSync } from 'node:fs';

/** What is recorded of a message, for millions of which a line of JSON each would be too much. */
export const KINDS = [
  'confirmed',
  'started',
  'finished',
  'failed',
  'aborted',
  'acked',
  'retried',
  'stale',
  'dead',
] as const;
export type Kind = (typeof KINDS)[number];

export interface CompactRecord {
  readonly kind: Kind;
  /** The id of the message. */
  readonly number: number;
  readonly attempt: number;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Epoch milliseconds; 0 of what has none. */
  readonly dueAt: number;
}

/** One byte, one for the attempt, two unused, four for the number, eight for each time. */
const SIZE = 24;

/** How many are gathered, at most, before they are written. */
const ROOM = 4096;

/** How many are read at once. */
const CHUNK = 65_536;

/** Writes records in groups: those of one turn of the event loop go together. */
export class CompactRecorder {
  readonly #file: number;
  readonly #gathered = Buffer.alloc(ROOM * SIZE);
  #count = 0;
  #written: Promise<void> | undefined;

  constructor(path: string) {
    this.#file = openSync(path, 'a');
  }

  /** @returns once the record survives the end of this process */
  async record(kind: Kind, number: number, attempt = 0, dueAt = 0): Promise<void> {
    if (this.#count === ROOM) this.#write();
    const offset = this.#count++ * SIZE;
    this.#gathered.writeUInt8(KINDS.indexOf(kind), offset);
    this.#gathered.writeUInt8(attempt, offset + 1);
    this.#gathered.writeUInt32LE(number, offset + 4);
    this.#gathered.writeDoubleLE(Date.now(), offset + 8);
    this.#gathered.writeDoubleLE(dueAt, offset + 16);
    this.#written ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#written = undefined;
        this.#write();
        resolve();
      });
    });
    await this.#written;
  }

  #write(): void {
    writeSync(this.#file, this.#gathered, 0, this.#count * SIZE);
    this.#count = 0;
  }
}

/** The records of a file, in their order. A killed process may have left part of one at the end. */
export function* readCompact(path: string): Generator<CompactRecord> {
  const file = openSync(path, 'a+');
  const chunk = Buffer.alloc(CHUNK * SIZE);
  try {
    for (let position = 0; ;) {
      const length = readSync(file, chunk, 0, chunk.length, position);
      const whole = length - (length % SIZE);
      for (let offset = 0; offset < whole; offset += SIZE) {
        yield {
          kind: KINDS[chunk.readUInt8(offset)] as Kind,
          attempt: chunk.readUInt8(offset + 1),
          number: chunk.readUInt32LE(offset + 4),
          at: chunk.readDoubleLE(offset + 8),
          dueAt: chunk.readDoubleLE(offset + 16),
        };
      }
      if (whole === 0) return;
      position += whole;
    }
  } finally {
    closeSync(file);
  }
}
