import type { Broker } from './broker.interface.js';
import { STORES, type Stores } from './store-broker.js';

/** Method of an operation, in the store or broker that has it. */
type MethodOf<O extends string, T = Stores[keyof Stores] | Pick<Broker, 'connect'>> =
  T extends Record<O, infer M extends (...args: never[]) => unknown> ? M : never;

/**
 * Operation that an application asks of its broker. `settle` carries the outcomes of handlers, `extend` renews leases, `setAside` makes
 * a dead letter of a message that cannot be claimed or settled, `configure` fixes the partitions of a topic; `permit` asks for
 * deliveries within the limits of a topic, which `setTerms` stores, and `hold` stops a partition for a while; `heartbeat`, `leave`
 * and `forget` are about the sessions of processes, `acquire` and `release` about the owners of partitions. `publishOccurrence`
 * publishes for a schedule, and `putSchedule` changes one.
 *
 * @publicApi
 */
export type BrokerOperation = { [S in keyof Stores]: keyof Stores[S] }[keyof Stores] | 'connect';

/** One call of an operation. */
export type BrokerCall = {
  readonly [O in BrokerOperation]: {
    readonly operation: O;
    readonly args: Parameters<MethodOf<O>>;
    /** Makes the call; can be called several times, or not at all. */
    readonly run: () => ReturnType<MethodOf<O>>;
  };
}[BrokerOperation];

/** Answers, or rejects, in the place of a call. */
export type Around = (call: BrokerCall) => Promise<unknown>;

type Method = (...args: unknown[]) => unknown;

/** The one operation that belongs to no store. */
const CONNECT = 'connect' satisfies BrokerOperation;

/** The names of a broker's operations. */
export function operationsOf(stores: Stores): BrokerOperation[] {
  const names = STORES.flatMap((name) => Object.getOwnPropertyNames(Object.getPrototypeOf(stores[name])));
  return [...names.filter(isOperation), CONNECT as BrokerOperation].toSorted();
}

/**
 * Returns the same broker with something around each of its operations.
 *
 * @param instead takes the place of other members of the broker
 */
export function wrapBroker<B extends Broker>(
  broker: B,
  around: Around,
  instead: Partial<Omit<Broker, keyof Stores | typeof CONNECT>> = {},
): B {
  const stores = Object.fromEntries(STORES.map((name) => [name, wrapMethods(broker[name], around, isOperation)]));
  return wrapMethods(broker, around, (name) => name === CONNECT, { ...stores, ...instead });
}

function wrapMethods<T extends object>(
  object: T,
  around: Around,
  isWrapped: (name: string | symbol) => boolean,
  instead: object = {},
): T {
  return new Proxy(object, {
    get(target, name) {
      if (Object.hasOwn(instead, name)) return Reflect.get(instead, name) as unknown;
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      const method = value.bind(target) as Method;
      if (!isWrapped(name)) return method;
      return async (...args: unknown[]) =>
        around({ operation: name as BrokerOperation, args, run: () => method(...args) } as BrokerCall);
    },
  });
}

function isOperation(name: string | symbol): name is Exclude<BrokerOperation, typeof CONNECT> {
  return name !== 'constructor';
}
