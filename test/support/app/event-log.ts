import type { DelayQueueEvents, QueueEvents } from 'nestjs-delay-queue';
import { type Observable, ReplaySubject, filter, firstValueFrom, take, toArray } from 'rxjs';
import { SOON, within } from '../waiting.js';

/** Records all events of one kind from before the boot, so that a wait misses none. */
export class Tape<E> {
  readonly past: E[] = [];
  readonly #kind: string;
  readonly #replay = new ReplaySubject<E>();

  constructor(kind: string, source: Observable<E>) {
    this.#kind = kind;
    source.subscribe(this.#replay);
    source.subscribe((event) => this.past.push(event));
  }

  /** The first event that fits, past or to come. */
  async first(fits: (event: E) => boolean = () => true, timeout = SOON): Promise<E> {
    return within(`event '${this.#kind}'`, firstValueFrom(this.#replay.pipe(filter(fits))), timeout);
  }

  /** The first `count` events that fit. */
  async take(count: number, fits: (event: E) => boolean = () => true, timeout = SOON): Promise<E[]> {
    const events = firstValueFrom(this.#replay.pipe(filter(fits), take(count), toArray()));
    return within(`${count} events '${this.#kind}'`, events, timeout);
  }
}

/** Everything that an app emits through `DelayQueueEvents`. */
export class EventLog implements Record<keyof QueueEvents, unknown> {
  readonly published: Tape<QueueEvents['published']>;
  readonly delivered: Tape<QueueEvents['delivered']>;
  readonly acked: Tape<QueueEvents['acked']>;
  readonly retried: Tape<QueueEvents['retried']>;
  readonly dead: Tape<QueueEvents['dead']>;
  readonly cancelled: Tape<QueueEvents['cancelled']>;
  readonly replaced: Tape<QueueEvents['replaced']>;
  readonly released: Tape<QueueEvents['released']>;
  readonly stale: Tape<QueueEvents['stale']>;
  readonly missed: Tape<QueueEvents['missed']>;
  readonly ownership: Tape<QueueEvents['ownership']>;
  readonly limited: Tape<QueueEvents['limited']>;
  readonly held: Tape<QueueEvents['held']>;
  readonly errors: Tape<QueueEvents['errors']>;

  constructor(events: DelayQueueEvents) {
    this.published = new Tape('published', events.published);
    this.delivered = new Tape('delivered', events.delivered);
    this.acked = new Tape('acked', events.acked);
    this.retried = new Tape('retried', events.retried);
    this.dead = new Tape('dead', events.dead);
    this.cancelled = new Tape('cancelled', events.cancelled);
    this.replaced = new Tape('replaced', events.replaced);
    this.released = new Tape('released', events.released);
    this.stale = new Tape('stale', events.stale);
    this.missed = new Tape('missed', events.missed);
    this.ownership = new Tape('ownership', events.ownership);
    this.limited = new Tape('limited', events.limited);
    this.held = new Tape('held', events.held);
    this.errors = new Tape('errors', events.errors);
  }
}
