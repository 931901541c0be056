import { MAX_BATCH } from '../store/partition.js';
import type { EventLog } from '../store/records/event-log.interface.js';
import type { Clock } from '../time/clock.js';
import type { Log } from '../log.js';
import { within } from '../time/deadline.js';
import { Loop } from '../time/loop.js';
import { repeatUntilServed } from '../store/calls/serve.js';
import { EventsDroppedError } from '../errors/operation.errors.js';
import type { EventSink, QueueEvents } from './queue-events.interface.js';
import { type EncodedEvent, type FleetKind, encodeEntry, encodeEvent } from './fleet-codec.js';

/** Most events that wait to be sent; further ones are dropped. */
const MAX_PENDING = 10_000;

/** Longest time that the end of the process waits for the last events, in milliseconds. */
const STOP_TIMEOUT = 500;

export interface FleetPublisherOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly events: EventSink;
  readonly eventLog: EventLog;
  /** Returns the time of the broker's clock, in epoch milliseconds. */
  readonly now: () => number;
  readonly process: string;
  /** Approximate number of events of the whole fleet to keep. */
  readonly maxLength: number;
}

/**
 * Publishes the events of this process to the fleet. Nothing waits for it: the events of a turn of the event loop, and those that occur
 * while a call is under way, travel together. While Redis does not accept them they wait, and if too many wait, further ones are dropped.
 */
export class FleetPublisher {
  readonly #options: FleetPublisherOptions;
  readonly #stop = new AbortController();
  readonly #sending: Loop;
  #pending: EncodedEvent[] = [];
  #dropped = 0;
  /** Time from which the times of the events count. */
  readonly #startedAt: number;
  #sequence = 0;
  /** Whether the latest call failed; one warning is enough. */
  #failing = false;

  constructor(options: FleetPublisherOptions) {
    this.#options = options;
    this.#startedAt = Math.round(options.now());
    this.#sending = new Loop({ clock: options.clock, run: () => this.#sendAll(), gather: true });
  }

  add<K extends FleetKind>(kind: K, event: QueueEvents[K]): void {
    if (this.#pending.length >= MAX_PENDING || this.#stop.signal.aborted) {
      this.#dropped++;
      return;
    }
    this.#pending.push(encodeEvent(kind, event, this.#options.now() - this.#startedAt));
    this.#sending.poke();
  }

  /** Sends the waiting events, for at most half a second. Those not confirmed by then count as dropped. */
  async stop(): Promise<void> {
    await within(this.#options.clock, STOP_TIMEOUT, this.#sending.idle()).catch(() => {});
    this.#stop.abort();
    this.#dropped += this.#pending.length;
    this.#pending = [];
    this.#tellDropped();
  }

  /** Never rejects. */
  async #sendAll(): Promise<void> {
    while (this.#pending.length > 0) await this.#send(this.#pending.slice(0, MAX_BATCH));
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

  /** @param count number of dropped events that the sent entry has reported */
  #tellDropped(count = this.#dropped): void {
    if (count === 0) return;
    this.#dropped -= count;
    const { log, events } = this.#options;
    const error = new EventsDroppedError(count);
    log.warn(error.message);
    events.emit('errors', { source: 'fleet', error });
  }
}
