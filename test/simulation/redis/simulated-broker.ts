import type { Broker } from '../../../lib/store/broker.interface.js';
import type { Clock } from '../../../lib/time/clock.js';
import type { Product } from '../product/evaluate.js';
import type { Link } from './link.js';
import { Clocks } from './clocks.js';
import { LinkedCalls, type WatchCall } from './linked-calls.js';
import type { Server } from './server.js';

export interface SimulatedBrokerOptions {
  readonly product: Product;
  readonly link: Link;
  readonly server: Server;
  readonly clock: Clock;
  readonly watch: WatchCall;
}

/** The product's operations over a link: what `redis.broker.ts` is over ioredis. */
export function createSimulatedBroker({ product, link, server, clock, watch }: SimulatedBrokerOptions): Broker {
  const onStep = new Set<() => void>();
  const stepped = (): void => {
    for (const listener of onStep) listener();
  };
  const clocks = new Clocks(product, server, clock, stepped);
  link.onSlots(stepped);
  const keys = new product.StoreKeys('dq');
  const calls = new LinkedCalls({ link, calls: server.callsOf(product), clocks, watch });
  const ping = async (): Promise<void> => {
    await Promise.any(calls.ask()).catch(firstOf);
  };
  const rest: Omit<Broker, keyof InstanceType<Product['StoreBroker']>> = {
    link: {
      get isUp() {
        return link.isUp;
      },
      get losesSignals() {
        return link.losesSignals;
      },
      unreachable: [],
      ping,
      listen: async () => void (await Promise.all(calls.ask())),
      rebuild: (which) => link.rebuild(which),
    },
    eventLog: { append: async () => {}, follow: () => async () => {} },
    now: (partition) => clocks.of(partition ? keys.partition(partition).scheduled : keys.fleet.sessions).now(),
    onClockStep(listener) {
      onStep.add(listener);
      return () => void onStep.delete(listener);
    },
    connect: ping,
    close: async () => {},
    inspect: async () => [],
    onAvailable: (listener) => link.onAvailable(listener),
    onError: () => () => {},
  };
  const stores = new product.StoreBroker({
    driver: calls,
    keys,
    subscribe: (channel, listener, onListening) => {
      const end = link.signals.listen(channel, listener, onListening);
      return async () => end();
    },
  });
  return Object.assign(stores, rest);
}

/** @throws what the first shard has failed with */
function firstOf({ errors }: AggregateError): never {
  throw errors[0];
}
