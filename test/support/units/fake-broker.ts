import type { Broker } from '../../../lib/store/broker.interface.js';
import type { Stores } from '../../../lib/store/store-broker.js';

/** What a test needs of a broker. */
export type BrokerPart = Partial<Omit<Broker, keyof Stores>> & {
  readonly [S in keyof Stores]?: { readonly [O in keyof Stores[S]]?: Stores[S][O] };
};

/** A broker that can do nothing else. */
export function fakeBroker(part: BrokerPart): Broker {
  return part as Broker;
}
