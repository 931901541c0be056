import type { EventSink } from '../../events/queue-events.interface.js';
import { errorLine, type Log } from '../../log.js';
import type { Clock } from '../../time/clock.js';
import { Loop } from '../../time/loop.js';
import type { InboxTable } from './inbox-table.js';

export interface InboxTopicsOptions {
  readonly table: InboxTable;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventSink;
  /** Milliseconds after which entries are removed. */
  readonly retention: number;
  /** Whether this process, and no other of the fleet, is to remove old entries. */
  readonly isCleaner: () => boolean;
}

/** Time between two looks at the table, in milliseconds. */
const LOOK = 3000;

/** Looks after which topics are announced anew, which is much shorter than any retention. */
const LOOKS_BETWEEN = 600;

/** Most statements of a look that remove entries: many thousand a second are more than come. */
const MOST_CLEANED = 20;

/**
 * Knows which topics have an inbox. Processes with a handler announce them in the database, since a process that only publishes or cancels has
 * none.
 */
export class InboxTopics {
  readonly #options: InboxTopicsOptions;
  readonly #looks: Loop;
  readonly #own = new Set<string>();
  #known: ReadonlySet<string> = new Set();
  #count = 0;
  #hasFailed = false;

  constructor(options: InboxTopicsOptions) {
    this.#options = options;
    this.#looks = new Loop({ clock: options.clock, run: () => this.#look() });
  }

  has(topic: string): boolean {
    return this.#known.has(topic);
  }

  /** Reads what is announced. Rejects with any error of the database. */
  async read(): Promise<void> {
    this.#known = new Set([...this.#own, ...(await this.#options.table.topics())]);
  }

  /** Announces topics of this process. Rejects with any error of the database. */
  async announce(topics: readonly string[]): Promise<void> {
    for (const topic of topics) this.#own.add(topic);
    await this.#options.table.announce([...this.#own]);
    await this.read();
  }

  /** Keeps reading and announcing. */
  start(): void {
    void this.#looks.start();
  }

  /** Can be called twice. */
  async stop(): Promise<void> {
    await this.#looks.stop();
  }

  /** Never rejects. */
  async #look(): Promise<number> {
    const { table, log, events, retention, isCleaner } = this.#options;
    try {
      if (this.#count++ % LOOKS_BETWEEN === 0) await table.announce([...this.#own]);
      for (let i = 0; i < MOST_CLEANED && isCleaner(); i++) if (!(await table.clean(retention))) break;
      await this.read();
      this.#hasFailed = false;
    } catch (error) {
      events.emit('errors', { source: 'outbox', error });
      if (!this.#hasFailed) log.warn(`The table of the inbox cannot be looked at: ${errorLine(error)}`);
      this.#hasFailed = true;
    }
    return LOOK;
  }
}
