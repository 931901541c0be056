import type { CallId, CancelResult, MessageStore, Partition } from '../broker/broker.interface.js';
import type { Clock } from '../common/clock.js';
import { serveWithin } from '../common/serve-within.js';

export interface CancelLaneOptions {
  readonly store: Pick<MessageStore, 'cancel'>;
  readonly clock: Clock;
  /** Names this process among those that cancel. */
  readonly caller: string;
  readonly partition: Partition;
  /** Milliseconds. */
  readonly timeout: number;
}

/** Sends the cancels to one partition one after another, so that the repeat of one is told from the next. */
export class CancelLane {
  readonly #options: CancelLaneOptions;
  #sequence = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: CancelLaneOptions) {
    this.#options = options;
  }

  /** @throws BrokerUnavailableError where it could not be confirmed in time */
  async cancel(storedId: string): Promise<CancelResult> {
    const { store, clock, caller, partition, timeout } = this.#options;
    const deadline = clock.now() + timeout;
    const call: CallId = { caller, sequence: ++this.#sequence };
    const cancelling = this.#last.then(() =>
      serveWithin(clock, deadline - clock.now(), () => store.cancel(partition, call, storedId)),
    );
    this.#last = cancelling.catch(() => {});
    return cancelling;
  }
}
