import { Injectable } from '@nestjs/common';
import { type Observable, Subject } from 'rxjs';
import type { EventSink, QueueEvents } from './events/queue-events.interface.js';

/**
 * What this process does, as Observables. They never complete or fail; nothing is kept for late subscribers.
 *
 * @example
 * ```ts
 * events.dead.subscribe(({ topic, id, failure }) => alert(`${topic} ${id}: ${failure.message}`));
 * ```
 *
 * @publicApi
 */
@Injectable()
export class DelayQueueEvents implements EventSink {
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
    ownership: new Subject(),
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
  readonly ownership: Observable<QueueEvents['ownership']> = this.#subjects.ownership.asObservable();
  readonly errors: Observable<QueueEvents['errors']> = this.#subjects.errors.asObservable();

  /** @internal */
  wants(kind: keyof QueueEvents): boolean {
    return this.#subjects[kind].observed;
  }

  /** @internal */
  emit<K extends keyof QueueEvents>(kind: K, event: QueueEvents[K]): void {
    this.#subjects[kind].next(event);
  }
}
