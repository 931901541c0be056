import type { DeadLetterStore } from '../../../../lib/store/dead-letters/dead-letter-store.js';
import type { DeliveryStore } from '../../../../lib/store/deliveries/delivery-store.js';
import type { FleetStore } from '../../../../lib/store/fleet/fleet-store.js';
import type { MessageStore } from '../../../../lib/store/messages/message-store.js';
import type { Partition } from '../../../../lib/store/partition.js';
import type { Clock } from '../../../../lib/time/clock.js';
import { claim } from './claiming.js';
import { removeDead, requeueDead, trimDead, trimFinished } from './dead-letters.js';
import { acquire, extend, hold, release, resume, settle } from './delivering.js';
import { get, locate, peek, stats } from './looking.js';
import { ModelPartition } from './model-partition.js';
import { Permits } from './permits.js';
import { cancel, cancelTagged, clear, publish, reschedule, runNow } from './publishing.js';

/** What the model compares. */
export interface Compared {
  readonly messages: Pick<
    MessageStore,
    'cancel' | 'cancelTagged' | 'clear' | 'get' | 'locate' | 'peek' | 'publish' | 'reschedule' | 'runNow' | 'stats'
  >;
  readonly deliveries: Pick<DeliveryStore, 'claim' | 'extend' | 'hold' | 'permit' | 'resume' | 'settle'>;
  readonly deadLetters: Pick<DeadLetterStore, 'removeDead' | 'requeueDead' | 'trimDead' | 'trimFinished'>;
  readonly fleet: Pick<FleetStore, 'acquire' | 'release'>;
}

/**
 * A second opinion about one partition: written by hand from the rules, and not from the scripts. It knows what random sequences of
 * operations can find, and no more; a new feature need not be added to it.
 */
export class Oracle implements Compared {
  readonly messages: Compared['messages'] = {
    cancel: this.#operation(cancel),
    cancelTagged: this.#operation(cancelTagged),
    clear: this.#operation(clear),
    get: this.#operation(get),
    locate: this.#operation(locate),
    peek: this.#operation(peek),
    publish: this.#operation(publish),
    reschedule: this.#operation(reschedule),
    runNow: this.#operation(runNow),
    stats: this.#operation(stats),
  };
  readonly deliveries: Compared['deliveries'] = {
    claim: this.#operation(claim),
    extend: this.#operation(extend),
    hold: this.#operation(hold),
    permit: async (_topic, request) => this.#permits.permit(request, this.#clock.now()),
    resume: this.#operation(resume),
    settle: this.#operation(settle),
  };
  readonly deadLetters: Compared['deadLetters'] = {
    removeDead: this.#operation(removeDead),
    requeueDead: this.#operation(requeueDead),
    trimDead: this.#operation(trimDead),
    trimFinished: this.#operation(trimFinished),
  };
  readonly fleet: Compared['fleet'] = {
    acquire: this.#operation(acquire),
    release: this.#operation(release),
  };
  readonly #clock: Clock;
  readonly #partition: ModelPartition;
  readonly #permits = new Permits();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#partition = new ModelPartition(clock);
  }

  #operation<A extends unknown[], R>(operation: (partition: ModelPartition, ...args: A) => R) {
    return async (_partition: Partition, ...args: A): Promise<R> => operation(this.#partition, ...args);
  }
}
