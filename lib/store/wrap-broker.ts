import type { Broker, BrokerOperation, BrokerOperations } from './broker.interface.js';

/** One call of an operation. */
export type BrokerCall = {
  readonly [O in BrokerOperation]: {
    readonly operation: O;
    readonly args: Parameters<BrokerOperations[O]>;
    /** Makes the call; may be called several times, or not at all. */
    readonly run: () => ReturnType<BrokerOperations[O]>;
  };
}[BrokerOperation];

/** Answers, or rejects, in the place of a call. */
export type Around = (call: BrokerCall) => Promise<unknown>;

type MethodOf<T> = { [K in keyof T]: T[K] extends (...args: never[]) => unknown ? K : never }[keyof T];

/** The methods of a broker that are no operations. One that is missing here, or is an operation, does not compile. */
const OTHER_METHODS = {
  now: true,
  onClockStep: true,
  inspect: true,
  close: true,
  watchPartition: true,
  watchSession: true,
  onAvailable: true,
  onError: true,
} as const satisfies { readonly [K in Exclude<MethodOf<Broker>, BrokerOperation>]: true };

/** The names of a broker's operations. */
export function operationsOf(broker: Broker): BrokerOperation[] {
  const names = new Set<string>();
  for (let level: object = broker; level !== Object.prototype; level = Object.getPrototypeOf(level) as object) {
    for (const name of Object.getOwnPropertyNames(level)) names.add(name);
  }
  return [...names].filter((name): name is BrokerOperation => isOperation(name, Reflect.get(broker, name))).toSorted();
}

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
      if (!isOperation(name, value)) return method;
      return async (...args: unknown[]) =>
        around({ operation: name as BrokerOperation, args, run: () => method(...args) } as BrokerCall);
    },
  });
}

function isOperation(name: string | symbol, value: unknown): boolean {
  return typeof value === 'function' && name !== 'constructor' && !Object.hasOwn(OTHER_METHODS, name);
}
