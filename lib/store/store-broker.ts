import { DeadLetterStore } from './dead-letters/dead-letter-store.js';
import { DeliveryStore } from './deliveries/delivery-store.js';
import type { Driver, Unsubscribe } from './driver.interface.js';
import { FleetStore } from './fleet/fleet-store.js';
import {
  type PartitionSignal,
  type SessionSignal,
  decodePartitionSignal,
  decodeSessionSignal,
} from './fleet/signals.js';
import type { StoreKeys } from './keys.js';
import { MessageStore } from './messages/message-store.js';
import type { Partition } from './partition.js';
import { PartitionWatchers } from './partition-watchers.js';
import { RecordStore } from './records/record-store.js';
import { ScheduleStore } from './schedules/schedule-store.js';

/** Listens to the messages of a channel; the rest as `SignalSource` has it. */
export type Subscribe = (channel: string, listener: (message: string) => void, onListening?: () => void) => Unsubscribe;

export interface StoreBrokerOptions {
  readonly driver: Driver;
  readonly keys: StoreKeys;
  readonly subscribe: Subscribe;
}

/** The names of the stores. */
export const STORES = ['messages', 'deliveries', 'deadLetters', 'schedules', 'fleet', 'records'] as const;

/**
 * Everything that is stored, each part with its operations. An operation takes a bounded amount of work, rejects with `BrokerUnavailableError`
 * if the broker cannot be reached, and can be repeated with the same arguments without harm.
 */
export type Stores = Pick<StoreBroker, (typeof STORES)[number]>;

/** Part of a broker that is the same on every engine: the stores, and the signals about them. */
export class StoreBroker {
  /** Publishing messages, changing them, and looking at what is stored. */
  readonly messages: MessageStore;
  /** From the claim of a message to its settle, and what holds claims back. */
  readonly deliveries: DeliveryStore;
  /** Dead letters, and the finished messages that are kept. */
  readonly deadLetters: DeadLetterStore;
  readonly schedules: ScheduleStore;
  /** Topics, the sessions of processes, and the owners of partitions. */
  readonly fleet: FleetStore;
  /** Reports of processes, and the log of operators' actions: for those who look, and nothing else depends on them. */
  readonly records: RecordStore;
  readonly #keys: StoreKeys;
  readonly #subscribe: Subscribe;
  readonly #watchers = new PartitionWatchers();

  constructor({ driver, keys, subscribe }: StoreBrokerOptions) {
    const options = { driver, keys, watchers: this.#watchers };
    this.messages = new MessageStore(options);
    this.deliveries = new DeliveryStore(options);
    this.deadLetters = new DeadLetterStore(options);
    this.schedules = new ScheduleStore(options);
    this.fleet = new FleetStore(options);
    this.records = new RecordStore(options);
    this.#keys = keys;
    this.#subscribe = subscribe;
  }

  watchPartition(
    partition: Partition,
    listener: (signal: PartitionSignal) => void,
    onListening?: () => void,
  ): Unsubscribe {
    const { channel } = this.#keys.partition(partition);
    const forget = this.#watchers.add(channel, listener);
    const unsubscribe = this.#subscribe(channel, readingWith(decodePartitionSignal, listener), onListening);
    return async () => {
      forget();
      await unsubscribe();
    };
  }

  watchSession(session: string, listener: (signal: SessionSignal) => void, onListening?: () => void): Unsubscribe {
    const onMessage = readingWith(decodeSessionSignal, listener);
    const subscriptions = [this.#keys.fleet.channel, this.#keys.sessionChannel(session)].map((channel) =>
      this.#subscribe(channel, onMessage, onListening),
    );
    return async () => {
      await Promise.all(subscriptions.map(async (unsubscribe) => unsubscribe()));
    };
  }
}

/** Leaves out messages that cannot be read: another program, or a later version, may have sent them. */
function readingWith<S>(
  decode: (message: string) => S | undefined,
  listener: (signal: S) => void,
): (message: string) => void {
  return (message) => {
    const signal = decode(message);
    if (signal) listener(signal);
  };
}
