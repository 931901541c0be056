import type { ConsumerContext } from '../consumer-context.js';

/** Whether messages of a topic wait for permits. It tells each time that begins, and ends. */
export class LimitedState {
  readonly #context: ConsumerContext;
  readonly #topic: string;
  #since: number | undefined;

  constructor(context: ConsumerContext, topic: string) {
    this.#context = context;
    this.#topic = topic;
  }

  /** Since when they wait; epoch milliseconds on the local clock, `undefined` if none do. */
  get since(): number | undefined {
    return this.#since;
  }

  begin(): void {
    if (this.#since !== undefined) return;
    this.#since = this.#context.clock.now();
    this.#tell(true);
  }

  end(): void {
    if (this.#since === undefined) return;
    this.#since = undefined;
    this.#tell(false);
  }

  #tell(limited: boolean): void {
    const { events } = this.#context;
    if (events.wants('limited')) events.emit('limited', { topic: this.#topic, limited });
  }
}
