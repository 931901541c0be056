import type { BrokerOperations, Partition } from '../../../../lib/store/broker.interface.js';
import type { Clock } from '../../../../lib/time/clock.js';
import { claim } from './claiming.js';
import { removeDead, requeueDead, trimDead, trimFinished } from './dead-letters.js';
import { acquire, extend, hold, release, resume, settle } from './delivering.js';
import { get, locate, peek, stats } from './looking.js';
import { ModelPartition } from './model-partition.js';
import { Permits } from './permits.js';
import { cancel, cancelTagged, clear, publish, reschedule, runNow } from './publishing.js';

/** What the model compares. */
export type Compared = Pick<
  BrokerOperations,
  | 'acquire'
  | 'cancel'
  | 'cancelTagged'
  | 'claim'
  | 'clear'
  | 'extend'
  | 'get'
  | 'hold'
  | 'locate'
  | 'peek'
  | 'permit'
  | 'publish'
  | 'release'
  | 'removeDead'
  | 'requeueDead'
  | 'reschedule'
  | 'resume'
  | 'runNow'
  | 'settle'
  | 'stats'
  | 'trimDead'
  | 'trimFinished'
>;

/**
 * A second opinion about one partition: written by hand from the rules, and not from the scripts. It knows what random sequences of
 * operations can find, and no more; a new feature need not be added to it.
 */
export class Oracle implements Compared {
  readonly acquire = this.#operation(acquire);
  readonly cancel = this.#operation(cancel);
  readonly cancelTagged = this.#operation(cancelTagged);
  readonly claim = this.#operation(claim);
  readonly clear = this.#operation(clear);
  readonly extend = this.#operation(extend);
  readonly get = this.#operation(get);
  readonly hold = this.#operation(hold);
  readonly locate = this.#operation(locate);
  readonly peek = this.#operation(peek);
  readonly publish = this.#operation(publish);
  readonly release = this.#operation(release);
  readonly removeDead = this.#operation(removeDead);
  readonly requeueDead = this.#operation(requeueDead);
  readonly reschedule = this.#operation(reschedule);
  readonly resume = this.#operation(resume);
  readonly runNow = this.#operation(runNow);
  readonly settle = this.#operation(settle);
  readonly stats = this.#operation(stats);
  readonly trimDead = this.#operation(trimDead);
  readonly trimFinished = this.#operation(trimFinished);
  readonly #clock: Clock;
  readonly #partition: ModelPartition;
  readonly #permits = new Permits();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#partition = new ModelPartition(clock);
  }

  permit: Compared['permit'] = async (_topic, request) => this.#permits.permit(request, this.#clock.now());

  #operation<A extends unknown[], R>(operation: (partition: ModelPartition, ...args: A) => R) {
    return async (_partition: Partition, ...args: A): Promise<R> => operation(this.#partition, ...args);
  }
}
