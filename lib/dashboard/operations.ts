import { randomUUID } from 'node:crypto';
import type { AuditedAction, BulkProgress, BulkResult } from '../admin/index.js';
import type { Clock } from '../time/clock.js';
import { toDate } from '../time/date.js';
import { errorText } from '../log.js';
import { Refusal } from '../http/refusal.js';
import type { Viewer } from './viewer.js';

/** Work on many messages, which goes on while its browser is closed, and can be stopped. */
export interface Operation {
  readonly id: string;
  readonly action: AuditedAction;
  readonly topic: string;
  readonly actor: string | undefined;
  readonly startedAt: Date;
  /** Number of messages that were meant when its user counted them; `undefined` if nobody did. */
  readonly total: number | undefined;
  readonly state: 'running' | 'done' | 'stopped' | 'failed';
  /** Progress so far; `undefined` before its first step. */
  readonly progress: BulkProgress | undefined;
  /** Result of the call. */
  readonly result: Omit<BulkResult, 'examples'> | undefined;
  readonly error: string | undefined;
}

/** Lets the work be stopped, and report its progress. */
export interface OperationControl {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: BulkProgress) => void;
}

interface Entry {
  shown: Operation;
  readonly abort: AbortController;
}

/** Most operations to remember. */
const MAX_REMEMBERED = 100;

/** The operations that were begun in this process. */
export class Operations {
  readonly #clock: Clock;
  readonly #onEnd: () => void;
  readonly #operations = new Map<string, Entry>();

  /** @param onEnd called after each of them has ended, with or without success */
  constructor(clock: Clock, onEnd: () => void) {
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  /** Returns the operations of the topics that the viewer sees, the latest first. */
  list(viewer: Viewer): Operation[] {
    const all = Array.from(this.#operations.values(), ({ shown }) => shown);
    return all.filter(({ topic }) => viewer.sees(topic)).toReversed();
  }

  /** @throws Refusal if there is none with this id, or the viewer does not see its topic */
  get(id: string, viewer: Viewer): Operation {
    const entry = this.#operations.get(id);
    if (!entry || !viewer.sees(entry.shown.topic)) {
      throw new Refusal(404, 'NOT_FOUND', 'This process has no such operation.');
    }
    return entry.shown;
  }

  /** @param work rejects or resolves once it has ended */
  begin(
    about: Pick<Operation, 'action' | 'topic' | 'actor' | 'total'>,
    work: (control: OperationControl) => Promise<BulkResult>,
  ): Operation {
    const abort = new AbortController();
    const startedAt = toDate(this.#clock.now());
    const shown: Operation = {
      ...about,
      id: randomUUID(),
      startedAt,
      state: 'running',
      progress: undefined,
      result: undefined,
      error: undefined,
    };
    const entry = { shown, abort };
    this.#operations.set(shown.id, entry);
    this.#forgetOldest();
    const follow = async (): Promise<void> => {
      try {
        const onProgress = (progress: BulkProgress): void => {
          entry.shown = { ...entry.shown, progress };
        };
        const { examples: _, ...result } = await work({ signal: abort.signal, onProgress });
        entry.shown = { ...entry.shown, state: abort.signal.aborted ? 'stopped' : 'done', result };
      } catch (error) {
        entry.shown = {
          ...entry.shown,
          state: 'failed',
          error: errorText(error),
        };
      }
      this.#onEnd();
    };
    void follow();
    return shown;
  }

  /** Stops one, if it is still remembered. */
  stop(id: string): void {
    this.#operations.get(id)?.abort.abort();
  }

  /** Call this when the process ends. Changes made by then stay. */
  stopAll(): void {
    for (const { abort } of this.#operations.values()) abort.abort();
  }

  #forgetOldest(): void {
    for (const [id, { shown }] of this.#operations) {
      if (this.#operations.size <= MAX_REMEMBERED) return;
      if (shown.state !== 'running') this.#operations.delete(id);
    }
  }
}
