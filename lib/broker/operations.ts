import type { Broker, BrokerOperations, Partition } from './broker.interface.js';

export type OperationName = keyof BrokerOperations;

/** What an operation is about, by its first parameter. */
type AboutOf<O extends OperationName> =
  Parameters<BrokerOperations[O]> extends [Partition, ...unknown[]]
    ? 'partition'
    : Parameters<BrokerOperations[O]> extends [string, ...unknown[]]
      ? 'topic'
      : 'all';

/** Every operation of a broker and what it is about. An operation that is missing here, or is not in the port, does not compile. */
export const OPERATIONS = {
  connect: 'all',
  publish: 'partition',
  cancel: 'partition',
  reschedule: 'partition',
  locate: 'partition',
  claim: 'partition',
  settle: 'partition',
  extend: 'partition',
  setAside: 'partition',
  get: 'partition',
  stats: 'partition',
  trimDead: 'partition',
  listDead: 'partition',
  requeueDead: 'partition',
  removeDead: 'partition',
  configure: 'topic',
  configOf: 'topic',
  join: 'topic',
  leave: 'topic',
  hasMembers: 'topic',
  acquire: 'partition',
  renew: 'partition',
  release: 'partition',
  topics: 'all',
  peek: 'partition',
  runNow: 'partition',
  edit: 'partition',
  clear: 'partition',
  pause: 'partition',
  resume: 'partition',
} as const satisfies { readonly [O in OperationName]: AboutOf<O> };

export const OPERATION_NAMES = Object.keys(OPERATIONS) as readonly OperationName[];

/** One call of an operation. */
export type BrokerCall = {
  readonly [O in OperationName]: {
    readonly operation: O;
    readonly about: (typeof OPERATIONS)[O];
    readonly args: Parameters<BrokerOperations[O]>;
    /** Makes the call; may be called several times, or not at all. */
    readonly run: () => ReturnType<BrokerOperations[O]>;
  };
}[OperationName];

/** Answers, or rejects, in the place of a call. */
export type Around = (call: BrokerCall) => Promise<unknown>;

/**
 * The same broker with something around each of its operations.
 *
 * @param instead takes the place of other members of the broker
 */
export function wrapBroker<B extends Broker>(
  broker: B,
  around: Around,
  instead: Partial<Omit<Broker, OperationName>> = {},
): B {
  return new Proxy(broker, {
    get(target, name) {
      if (Object.hasOwn(instead, name)) return Reflect.get(instead, name) as unknown;
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      const method = value.bind(target) as (...args: unknown[]) => unknown;
      if (!Object.hasOwn(OPERATIONS, name)) return method;
      const operation = name as OperationName;
      return async (...args: unknown[]) =>
        around({ operation, about: OPERATIONS[operation], args, run: () => method(...args) } as BrokerCall);
    },
  });
}
