import { type Broker, type BrokerOperation, type BrokerOperations, OPERATIONS } from './broker.interface.js';

/** One call of an operation. */
export type BrokerCall = {
  readonly [O in BrokerOperation]: {
    readonly operation: O;
    readonly about: (typeof OPERATIONS)[O];
    readonly args: Parameters<BrokerOperations[O]>;
    /** Makes the call; may be called several times, or not at all. */
    readonly run: () => ReturnType<BrokerOperations[O]>;
  };
}[BrokerOperation];

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
  instead: Partial<Omit<Broker, BrokerOperation>> = {},
): B {
  return new Proxy(broker, {
    get(target, name) {
      if (Object.hasOwn(instead, name)) return Reflect.get(instead, name) as unknown;
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      const method = value.bind(target) as (...args: unknown[]) => unknown;
      if (!Object.hasOwn(OPERATIONS, name)) return method;
      const operation = name as BrokerOperation;
      return async (...args: unknown[]) =>
        around({ operation, about: OPERATIONS[operation], args, run: () => method(...args) } as BrokerCall);
    },
  });
}
