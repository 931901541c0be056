import { Observable, Subject, share } from 'rxjs';
import { shareClass } from '../package-copies.js';
import type { FleetEvent } from './fleet-event.js';
import type { EventSink, QueueEvents } from './queue-events.interface.js';

/**
 * Events of this process as Observables; `fleet` has those of all processes. They never complete or fail, and nothing is kept for late
 * subscribers.
 *
 * @example
 * ```ts
 * events.dead.subscribe(({ topic, id, failure }) => alert(`${topic} ${id}: ${failure.message}`));
 * ```
 *
 * @publicApi
 */
export class DelayQueueEvents implements EventSink {
  static {
    shareClass('DelayQueueEvents', this);
  }

  readonly #subjects: { readonly [K in keyof QueueEvents]: Subject<QueueEvents[K]> } = {
    published: new Subject(),
    delivered: new Subject(),
    acked: new Subject(),
    retried: new Subject(),
    dead: new Subject(),
    cancelled: new Subject(),
    replaced: new Subject(),
    released: new Subject(),
    stale: new Subject(),
    missed: new Subject(),
    ownership: new Subject(),
    limited: new Subject(),
    held: new Subject(),
    errors: new Subject(),
  };

  readonly published: Observable<QueueEvents['published']> = this.#subjects.published.asObservable();
  readonly delivered: Observable<QueueEvents['delivered']> = this.#subjects.delivered.asObservable();
  readonly acked: Observable<QueueEvents['acked']> = this.#subjects.acked.asObservable();
  readonly retried: Observable<QueueEvents['retried']> = this.#subjects.retried.asObservable();
  readonly dead: Observable<QueueEvents['dead']> = this.#subjects.dead.asObservable();
  readonly cancelled: Observable<QueueEvents['cancelled']> = this.#subjects.cancelled.asObservable();
  readonly replaced: Observable<QueueEvents['replaced']> = this.#subjects.replaced.asObservable();
  readonly released: Observable<QueueEvents['released']> = this.#subjects.released.asObservable();
  readonly stale: Observable<QueueEvents['stale']> = this.#subjects.stale.asObservable();
  readonly missed: Observable<QueueEvents['missed']> = this.#subjects.missed.asObservable();
  readonly ownership: Observable<QueueEvents['ownership']> = this.#subjects.ownership.asObservable();
  readonly limited: Observable<QueueEvents['limited']> = this.#subjects.limited.asObservable();
  readonly held: Observable<QueueEvents['held']> = this.#subjects.held.asObservable();
  readonly errors: Observable<QueueEvents['errors']> = this.#subjects.errors.asObservable();

  /**
   * Events of all processes that publish theirs, including this one, from now on and in the order in which Redis received them. While
   * anybody listens, they are read on a separate connection. After a lost connection reading resumes where it stopped; events that are gone
   * by then are reported as `{ kind: 'gap', missed }`. A process publishes its events if the module's option `fleetEvents` is set; one that
   * only listens needs no option.
   *
   * @example
   * ```ts
   * events.fleet.subscribe((event) => {
   *   if (event.kind === 'dead') alert(`${event.process}: ${event.topic} ${event.id} is dead`);
   * });
   * ```
   */
  readonly fleet: Observable<FleetEvent>;

  /** @internal */
  constructor(follow: (next: (event: FleetEvent) => void) => () => void) {
    const events = new Observable<FleetEvent>((subscriber) => follow((event) => subscriber.next(event)));
    this.fleet = events.pipe(share());
  }

  /** @internal */
  wants(kind: keyof QueueEvents): boolean {
    return this.#subjects[kind].observed;
  }

  /** @internal */
  tap<K extends keyof QueueEvents>(kind: K, listener: (event: QueueEvents[K]) => void): void {
    this.#subjects[kind].subscribe(listener);
  }

  /** @internal */
  emit<K extends keyof QueueEvents>(kind: K, event: QueueEvents[K]): void {
    this.#subjects[kind].next(event);
  }
}
