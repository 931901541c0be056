import type { Broker, Unsubscribe } from '../../../lib/store/broker.interface.js';
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
  const keys = new product.RedisKeys('dq');
  const watchers = new product.PartitionWatchers();
  const calls = new LinkedCalls({ link, calls: server.callsOf(product), clocks, watch });
  const ping = async (): Promise<void> => {
    await Promise.any(calls.ask()).catch(firstOf);
  };
  const rest: Omit<Broker, keyof InstanceType<Product['RedisOperations']>> = {
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
    watchPartition(partition, listener, onListening): Unsubscribe {
      const { channel } = keys.partition(partition);
      const forget = watchers.add(channel, listener);
      const end = link.signals.listen(channel, decoded(product.decodeSignal, listener), onListening);
      return async () => {
        forget();
        end();
      };
    },
    watchSession(session, listener, onListening): Unsubscribe {
      const onMessage = decoded(product.decodeSessionSignal, listener);
      const { channel } = keys.fleet;
      const { signals } = link;
      const ends = [
        signals.listen(channel, onMessage, onListening),
        signals.listen(keys.sessionChannel(session), onMessage),
      ];
      return async () => {
        for (const end of ends) end();
      };
    },
    onAvailable: (listener) => link.onAvailable(listener),
    onError: () => () => {},
  };
  return Object.assign(new product.RedisOperations({ calls, keys, watchers }), rest);
}

/** @throws what the first shard has failed with */
function firstOf({ errors }: AggregateError): never {
  throw errors[0];
}

function decoded<T>(decode: (message: string) => T | undefined, listener: (signal: T) => void) {
  return (message: string): void => {
    const signal = decode(message);
    if (signal) listener(signal);
  };
}
