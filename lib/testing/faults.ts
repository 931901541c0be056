import type { AdminStore } from '../broker/admin-store.interface.js';
import type { GroupStore, MessageStore } from '../broker/broker.interface.js';
import type { DeadLetterStore } from '../broker/dead-letter-store.interface.js';
import { assertInteger, assertOneOf, assertOptions } from '../checks/validate.js';
import { describe } from '../checks/describe.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import { InvalidArgumentError } from '../errors/options.errors.js';

/**
 * What an application asks of its broker. `settle` carries the outcomes of handlers, `extend` renews leases, `setAside` makes
 * a dead letter of a message that cannot be claimed or settled, `configure`
 * fixes the partitions of a topic; `join`, `leave`, `acquire`, `renew` and `release` are about who owns them.
 *
 * @publicApi
 */
export type BrokerOperation =
  'connect' | keyof MessageStore | keyof GroupStore | keyof AdminStore | keyof DeadLetterStore;

/**
 * How operations fail.
 *
 * @publicApi
 */
export interface FaultOptions {
  /** How many calls fail, 1 or more. @defaultValue 1 */
  times?: number;
  /** What they reject with. @defaultValue a `BrokerUnavailableError` that may pass */
  error?: Error;
  /** Whether they take effect, and only their replies are lost. @defaultValue false */
  lostReply?: boolean;
}

interface Fault {
  readonly error: Error;
  readonly lostReply: boolean;
  remaining: number;
}

const KNOWN: Readonly<Record<BrokerOperation, true>> = {
  connect: true,
  publish: true,
  cancel: true,
  reschedule: true,
  locate: true,
  claim: true,
  settle: true,
  extend: true,
  setAside: true,
  get: true,
  stats: true,
  trimDead: true,
  listDead: true,
  requeueDead: true,
  removeDead: true,
  configure: true,
  configOf: true,
  join: true,
  leave: true,
  hasMembers: true,
  acquire: true,
  renew: true,
  release: true,
  topics: true,
  peek: true,
  runNow: true,
  edit: true,
  clear: true,
  pause: true,
  resume: true,
};

/** Failures that a test has asked for, in the order in which they come. */
export class Faults {
  readonly #planned = new Map<BrokerOperation, Fault[]>();

  /** @throws InvalidArgumentError */
  plan(operation: BrokerOperation, options: FaultOptions = {}): void {
    assertOneOf('operation', operation, Object.keys(KNOWN) as BrokerOperation[]);
    assertOptions('The options of failNext', options, ['times', 'error', 'lostReply']);
    const { times = 1, lostReply = false, error = lostReply ? lostReplyOf(operation) : failureOf(operation) } = options;
    assertInteger('times', times, { min: 1, max: Number.MAX_SAFE_INTEGER });
    if (!(error instanceof Error)) throw new InvalidArgumentError(`error must be an Error. Given: ${describe(error)}.`);
    const planned = this.#planned.get(operation) ?? [];
    this.#planned.set(operation, [...planned, { error, lostReply, remaining: times }]);
  }

  /** The failure of this call, if it has to fail. */
  next(operation: BrokerOperation): Pick<Fault, 'error' | 'lostReply'> | undefined {
    const planned = this.#planned.get(operation);
    const fault = planned?.[0];
    if (fault && --fault.remaining === 0) planned.shift();
    return fault;
  }
}

function failureOf(operation: string): BrokerUnavailableError {
  return new BrokerUnavailableError(`The test lets this call of '${operation}' fail (failNext)`);
}

function lostReplyOf(operation: string): BrokerUnavailableError {
  return new BrokerUnavailableError(`The test loses the reply to this call of '${operation}' (failNext)`);
}
