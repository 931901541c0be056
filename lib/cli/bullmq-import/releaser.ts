import { randomUUID } from 'node:crypto';
import type { Broker, Partition } from '../../broker/broker.interface.js';
import { serveWithin } from '../../broker/serve.js';
import { toStoredId } from '../../messages/stored-id.js';
import { SystemClock } from '../../time/clock.js';

/** How many messages are given their due time at once. Redis remembers the last answer to each caller for two minutes. */
const CALLERS = 32;

/** A message that is there and is to be due at its own time. */
export interface ParkedMessage {
  readonly partition: Partition;
  readonly id: string;
  /** Its due time until then, in epoch milliseconds. */
  readonly parkedUntil: number;
  /** Epoch milliseconds; a time that has passed means at once. */
  readonly dueAt: number;
}

/** Makes one call after another, so that the repeat of one is told from the next. */
interface Caller {
  readonly name: string;
  sequence: number;
  last: Promise<unknown>;
}

/** Gives parked messages their due times. */
export class Releaser {
  readonly #broker: Pick<Broker, 'reschedule' | 'now'>;
  readonly #timeout: number;
  readonly #clock = new SystemClock();
  readonly #callers: readonly Caller[];
  #next = 0;

  /** @param timeout longest time until one is confirmed, in milliseconds */
  constructor(broker: Pick<Broker, 'reschedule' | 'now'>, timeout: number) {
    this.#broker = broker;
    this.#timeout = timeout;
    const name = randomUUID();
    this.#callers = Array.from({ length: CALLERS }, (_, i) => ({
      name: `${name}:${i}`,
      sequence: 0,
      last: Promise.resolve(),
    }));
  }

  /**
   * Messages that are not parked any more stay as they are: somebody has cancelled them, given them another time, or published anew under
   * their ids.
   *
   * @throws BrokerUnavailableError if one was not confirmed in time
   */
  async release(messages: readonly ParkedMessage[]): Promise<void> {
    await Promise.all(messages.map((message) => this.#releaseOne(message)));
  }

  #releaseOne({ partition, id, parkedUntil, dueAt }: ParkedMessage): Promise<unknown> {
    const caller = this.#callers[this.#next++ % CALLERS] as Caller;
    const releasing = caller.last.then(() => {
      const call = { caller: caller.name, sequence: ++caller.sequence };
      const due = dueAt <= this.#broker.now(partition) ? { after: 0 } : { at: dueAt };
      return serveWithin(this.#clock, this.#timeout, () =>
        this.#broker.reschedule(partition, call, toStoredId(id), due, parkedUntil),
      );
    });
    caller.last = releasing.catch(() => {});
    return releasing;
  }
}
