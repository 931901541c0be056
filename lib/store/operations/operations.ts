import type { BrokerOperations } from '../broker.interface.js';
import { RedisDeadLetters } from './dead-letters.js';
import { RedisDeliveries } from './deliveries.js';
import { RedisFleet } from './fleet.js';
import { RedisMessages } from './messages.js';
import type { OperationOptions } from './operation-options.interface.js';
import { RedisRecords } from './records.js';
import { RedisSchedules } from './schedules.js';

const PARTS = [RedisMessages, RedisDeliveries, RedisDeadLetters, RedisSchedules, RedisFleet, RedisRecords];

/** Takes over what other classes do. */
class Composed {
  constructor(options: OperationOptions) {
    for (const Part of PARTS) this.#take(new Part(options));
  }

  #take(part: object): void {
    for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(part))) {
      const method: unknown = Reflect.get(part, name);
      if (typeof method === 'function' && name !== 'constructor') Reflect.set(this, name, method.bind(part));
    }
  }
}

/**
 * All operations, each from the class of its subject. They give a script its arguments by name, and read its reply; what a script does
 * is in `lua/`.
 */
export const RedisOperations = Composed as unknown as new (
  options: OperationOptions,
) => Omit<BrokerOperations, 'connect'>;
