import type { CallId, Partition } from '../broker/broker.interface.js';
import type { CallNames } from '../broker/call-names.js';
import type { Clock } from '../time/clock.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import { serveWithin } from '../broker/serve.js';

export interface ChangeLaneOptions {
  readonly clock: Clock;
  readonly calls: CallNames;
  readonly partition: Partition;
  /** Milliseconds. */
  readonly timeout: number;
}

/**
 * Sends the calls that change a message of one partition (cancel, reschedule) one after another, in the order in which they
 * were made, so that the repeat of one is told from the next.
 */
export class ChangeLane {
  readonly #options: ChangeLaneOptions;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ChangeLaneOptions) {
    this.#options = options;
  }

  /**
   * @param operation makes the call; it is repeated under the same name until it is served
   * @throws BrokerUnavailableError if it could not be confirmed in time. If those before it took all of it, it is not sent.
   */
  async send<T>(operation: (partition: Partition, call: CallId) => Promise<T>): Promise<T> {
    const { clock, calls, partition, timeout } = this.#options;
    const deadline = clock.now() + timeout;
    const call = calls();
    const sending = this.#last.then(() => {
      const remaining = deadline - clock.now();
      if (remaining > 0) return serveWithin(clock, remaining, () => operation(partition, call));
      throw new BrokerUnavailableError(
        `Nothing was changed: for ${timeout} ms Redis did not answer the calls before this one.`,
      );
    });
    this.#last = sending.catch(() => {});
    return sending;
  }
}
