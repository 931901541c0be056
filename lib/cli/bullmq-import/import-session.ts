import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { MAX_DELAY } from '../../checks/limits.js';
import { CliError, usageError } from '../cli-error.js';
import { EXIT } from '../exit-codes.js';
import { shown } from '../text.js';
import { type BullQueue, LOCK_TIME } from './bull-queue.js';
import type { Routes } from './job-message.js';

/** Between two renewals of the lock, and between two tries to get it, in milliseconds. */
const RENEWAL = 2000;
const RETRY = 250;

/** How far ahead messages are parked: as far as can be, without the time by which clocks may differ. */
const PARKED_FOR = MAX_DELAY - 24 * 60 * 60 * 1000;

/** Where an import goes. It is kept beside the queue until all is handed over, so that a repeat cannot go anywhere else. */
export interface Destination {
  readonly routes: Routes;
  /** Address and database of the Redis, and the prefix there. */
  readonly target: string;
}

/** What all runs of an import have done so far. */
export interface ImportTotals {
  readonly taken: number;
  readonly published: number;
  readonly duplicates: number;
  readonly returned: number;
  readonly lost: number;
}

/** The right of one run to import, kept until it ends. */
export class ImportSession {
  readonly token = randomUUID();
  readonly #queue: BullQueue;
  #parkedUntil = 0;
  #renewal: NodeJS.Timeout | undefined;

  constructor(queue: BullQueue) {
    this.#queue = queue;
  }

  /** The due time of messages that are not released yet. */
  get parkedUntil(): number {
    return this.#parkedUntil;
  }

  /**
   * Waits until a run that was killed does not count any more.
   *
   * @param onWait called if it has to wait
   * @throws CliError if another run is at work, or one that has not ended went somewhere else
   */
  async begin(destination: Destination, isMoved: boolean, onWait: () => void): Promise<void> {
    await this.#lock(onWait);
    this.#renewal = setInterval(() => {
      // The next step says what is wrong.
      this.#queue.renew(this.token).catch(() => {});
    }, RENEWAL);
    try {
      await this.#queue.forgetRefused();
      await this.#settle(textsOf(destination), isMoved);
    } catch (error) {
      await this.end();
      throw error;
    }
  }

  async totals(): Promise<ImportTotals> {
    const settings = await this.#queue.settings();
    const count = (name: keyof ImportTotals): number => Number(settings[name] ?? 0);
    return {
      taken: count('taken'),
      published: count('published'),
      duplicates: count('duplicates'),
      returned: count('returned'),
      lost: count('lost'),
    };
  }

  /** Lets the next run begin. */
  async end(): Promise<void> {
    clearInterval(this.#renewal);
    await this.#queue.leave(this.token);
  }

  async #lock(onWait: () => void): Promise<void> {
    const end = performance.now() + LOCK_TIME + RENEWAL;
    for (let isFirst = true; !(await this.#queue.lock(this.token)); isFirst = false) {
      if (isFirst) onWait();
      if (performance.now() > end) {
        throw new CliError(EXIT.no, 'BUSY', `Another import of queue '${shown(this.#queue.name)}' is at work.`);
      }
      await setTimeout(RETRY);
    }
  }

  async #settle(wanted: Record<'to' | 'target', string>, isMoved: boolean): Promise<void> {
    const { to, target, parkedUntil } = await this.#queue.settings();
    const { open } = await this.#queue.counts();
    if (parkedUntil === undefined) {
      this.#parkedUntil = Date.now() + PARKED_FOR;
      await this.#queue.putSettings({ ...wanted, parkedUntil: String(this.#parkedUntil) });
      return;
    }
    this.#parkedUntil = Number(parkedUntil);
    if (open > 0 && to !== wanted.to) {
      throw usageError(`An import of this queue to ${to} has not ended. Repeat it with the same topics first.`);
    }
    if (open > 0 && target !== wanted.target && !isMoved) {
      throw usageError(
        `An import of this queue to ${target} has not ended, and this one goes to ${wanted.target}. Repeat it with the same ` +
          `--redis and --prefix first, or give --moved if that Redis has another address now.`,
      );
    }
    await this.#queue.putSettings(wanted);
  }
}

function textsOf({ routes: { topic, byName }, target }: Destination): Record<'to' | 'target', string> {
  const others = Array.from(byName, ([name, each]) => `${name}=${each}`).toSorted();
  return { to: [`topic '${topic}'`, ...others].join(', '), target };
}
