import { setTimeout as sleep } from 'node:timers/promises';
import type { DelayQueueProducer } from 'nestjs-delay-queue';
import { type Bustle, type Task, WORK } from '../operated-protocol.js';

/** Publishes messages that are handled, that fail, that are moved and that are cancelled, until it is ended. */
export class Bustling {
  readonly #producer: DelayQueueProducer;
  readonly #bustle: Bustle;
  readonly #going: Promise<void>;
  #isEnding = false;

  constructor(producer: DelayQueueProducer, bustle: Bustle) {
    this.#producer = producer;
    this.#bustle = bustle;
    this.#going = this.#go();
  }

  /** Ends it and resolves once none of its messages waits. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#going;
  }

  async #go(): Promise<void> {
    let round = 0;
    for (; !this.#isEnding; round++) {
      const calls: Promise<unknown>[] = [
        this.#publish(`now-${round}`, { does: 'succeed' }),
        this.#publish(`again-${round}`, { does: 'fail-once' }),
        this.#publish(`later-${round}`, { does: 'succeed' }, { deliverAt: this.#sometime() }),
        this.#producer.reschedule(WORK, this.#id(`later-${round - 5}`), { deliverAt: this.#sometime() }),
        this.#producer.cancel(WORK, this.#id(`later-${round - 10}`)),
      ];
      if (this.#bustle.dying) calls.push(this.#publish(`die-${round}`, { does: 'give-up' }));
      await Promise.all(calls);
      await sleep(20);
    }
    const left = Array.from({ length: 10 }, (_, i) => this.#id(`later-${round - 1 - i}`));
    await Promise.all(left.map((id) => this.#producer.cancel(WORK, id)));
  }

  #publish(name: string, task: Task, when: { deliverAt?: number } = {}): Promise<unknown> {
    return this.#producer.publish(WORK, task, { id: this.#id(name), backoff: { type: 'fixed', delay: 5 }, ...when });
  }

  #id(name: string): string {
    return this.#bustle.idPrefix + name;
  }

  #sometime(): number {
    const { from, to } = this.#bustle;
    return Math.floor(from + Math.random() * (to - from));
  }
}
