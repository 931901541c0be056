import { MAX_BATCH, type EventLog } from '../broker/broker.interface.js';
import type { Clock } from '../time/clock.js';
import type { Log } from '../log.js';
import { repeatUntilServed, sleep } from '../time/repeat.js';
import { EventsDroppedError } from '../errors/events-dropped.error.js';
import type { EventSink, QueueEvents } from './queue-events.interface.js';
import { type EncodedEvent, type FleetKind, encodeEntry, encodeEvent } from './fleet-codec.js';

/** Most events that wait to be sent; beyond, they are dropped. */
const MAX_PENDING = 10_000;

/** How long the end of the process waits for the last events, in milliseconds. */
const STOP_TIMEOUT = 500;

export interface FleetPublisherOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly events: EventSink;
  readonly eventLog: EventLog;
  /** The broker's clock, epoch milliseconds. */
  readonly now: () => number;
  /** Names this process. */
  readonly process: string;
  /** How many events of the whole fleet to keep, about. */
  readonly maxLength: number;
}

/**
 * Tells the fleet what this process does. Nothing waits for it: events of a turn of the event loop, and those that come up
 * while a call is under way, travel together; where Redis does not take them they wait, and are dropped where too many do.
 */
export class FleetPublisher {
  readonly #options: FleetPublisherOptions;
  readonly #stop = new AbortController();
  #pending: EncodedEvent[] = [];
  #dropped = 0;
  /** From this time on those of the events count. */
  readonly #startedAt: number;
  #sequence = 0;
  #sending: Promise<void> | undefined;
  /** Whether the latest call failed; one warning is enough. */
  #failing = false;

  constructor(options: FleetPublisherOptions) {
    this.#options = options;
    this.#startedAt = Math.round(options.now());
  }

  add<K extends FleetKind>(kind: K, event: QueueEvents[K]): void {
    if (this.#pending.length >= MAX_PENDING || this.#stop.signal.aborted) {
      this.#dropped++;
      return;
    }
    this.#pending.push(encodeEvent(kind, event, this.#options.now() - this.#startedAt));
    this.#sending ??= this.#sendAll();
  }

  /** Sends what waits, as far as that takes no longer than half a second; what is not confirmed then counts as dropped. */
  async stop(): Promise<void> {
    const done = new AbortController();
    await Promise.race([this.#sending, sleep(this.#options.clock, STOP_TIMEOUT, done.signal)]);
    done.abort();
    this.#stop.abort();
    this.#dropped += this.#pending.length;
    this.#pending = [];
    this.#tellDropped();
  }

  /** Never rejects. */
  async #sendAll(): Promise<void> {
    // Events of the same turn of the event loop go along.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#pending.length > 0) await this.#send(this.#pending.slice(0, MAX_BATCH));
    this.#sending = undefined;
  }

  /** Never rejects. */
  async #send(batch: readonly EncodedEvent[]): Promise<void> {
    const { eventLog, clock, maxLength, process } = this.#options;
    const dropped = this.#dropped;
    const events = encodeEntry(this.#startedAt, batch);
    const entry = { process, sequence: ++this.#sequence, count: batch.length, dropped, events };
    try {
      await repeatUntilServed(() => eventLog.append(entry, maxLength), {
        clock,
        signal: this.#stop.signal,
        onFailure: (error) => this.#tellFailure(error),
      });
      this.#failing = false;
      this.#pending.splice(0, batch.length);
      this.#tellDropped(dropped);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#dropped += this.#pending.splice(0, batch.length).length;
      this.#tellFailure(error);
    }
  }

  #tellFailure(error: unknown): void {
    const { log, events } = this.#options;
    if (!this.#failing) log.warn(`Events for the fleet wait or are dropped: ${(error as Error).message}`);
    this.#failing = true;
    events.emit('errors', { source: 'fleet', error });
  }

  /** @param count those that are counted in what was sent */
  #tellDropped(count = this.#dropped): void {
    if (count === 0) return;
    this.#dropped -= count;
    const { log, events } = this.#options;
    const error = new EventsDroppedError(count);
    log.warn(error.message);
    events.emit('errors', { source: 'fleet', error });
  }
}
