import type { CallId, Partition } from '../partition.js';
import type { Clock } from '../../time/clock.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import { serveWithin } from './serve.js';

export interface ChangeLaneOptions {
  readonly clock: Clock;
  /** Name of this process among those that make such calls. */
  readonly caller: string;
  readonly partition: Partition;
  /** Milliseconds. */
  readonly timeout: number;
}

/**
 * Sends the calls that change a message of one partition (cancel, reschedule) one after another, in the order in which they
 * were made, so that a repeat can be told from the next call.
 */
export class ChangeLane {
  readonly #options: ChangeLaneOptions;
  #sequence = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ChangeLaneOptions) {
    this.#options = options;
  }

  /**
   * @param operation makes the call; it is repeated under the same name until it is served
   * @throws BrokerUnavailableError if it could not be confirmed in time. If the calls before it took all of that time, it is not sent.
   */
  async send<T>(operation: (partition: Partition, call: CallId) => Promise<T>): Promise<T> {
    const { clock, caller, partition, timeout } = this.#options;
    const deadline = clock.now() + timeout;
    const call: CallId = { caller, sequence: ++this.#sequence };
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
