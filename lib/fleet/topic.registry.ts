import { isDeepStrictEqual } from 'node:util';
import type { Broker } from '../store/broker.interface.js';
import type { TopicLimits } from '../store/deliveries/limits.js';
import {
  PROTOCOL_BEFORE,
  PROTOCOL_VERSION,
  type TopicConfig,
  type TopicOrder,
  type TopicTerms,
} from '../store/fleet/topic-config.js';
import type { TopicHandling } from '../store/fleet/topic-handling.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import { ConfigurationError } from '../errors/options.errors.js';
import type { Clock } from '../time/clock.js';
import { within } from '../time/deadline.js';
import { assertProtocol } from '../store/partitions.js';
import { describeLimits } from './describe-limits.js';
import type { Agreement } from './fleet-view.js';
import { DEFAULT_PARTITIONS, type TopicSettings } from './topic-settings.interface.js';

/** Longest time that a topic without an answer keeps callers waiting that need many topics, in milliseconds. */
const PATIENCE = 3000;

/** Descriptions of the order of a topic, for messages. */
const ORDERS = {
  none: 'has no order',
  continue: "is ordered (onDead: 'continue')",
  block: "is ordered (onDead: 'block')",
} as const satisfies Readonly<Record<TopicOrder | 'none', string>>;

/** Protocols of new topics; `undefined`: what the sessions speak that are stored then. A topic that exists is raised only in a settled fleet. */
const PROTOCOLS = {
  unknown: undefined,
  apart: PROTOCOL_BEFORE,
  alike: undefined,
  settled: PROTOCOL_VERSION,
} as const satisfies Readonly<Record<Agreement, number | undefined>>;

export interface TopicRegistryOptions {
  readonly store: Pick<Broker, 'fleet'>;
  readonly clock: Clock;
  readonly settingsOf: (topic: string) => TopicSettings;
  /** Called if a topic turns out to have another number of partitions than this process works with. */
  readonly onChanged: (error: ConfigurationError) => void;
}

/** A topic whose part of Redis does not answer now. */
export interface UnreachableTopic {
  readonly topic: string;
  readonly error: BrokerUnavailableError;
}

/** Limits of a topic that were stored. */
export interface LimitsChange {
  readonly topic: string;
  readonly limits: TopicLimits | undefined;
  /** Such as `at most 50 in 1s`. */
  readonly text: string;
}

/** Holds what this process knows of each topic: its settings, how many partitions it has, its protocol, its order and its limits. */
export class TopicRegistry {
  readonly #options: TopicRegistryOptions;
  readonly #settings = new Map<string, TopicSettings>();
  readonly #partitions = new Map<string, number>();
  readonly #protocols = new Map<string, number>();
  readonly #orders = new Map<string, TopicOrder>();
  readonly #limits = new Map<string, TopicLimits>();
  readonly #handling = new Map<string, TopicHandling>();
  /** Restores that run now, by topic. */
  readonly #restoring = new Map<string, Promise<void>>();
  /** Restores that run after those. */
  readonly #toRestore = new Map<string, Promise<void>>();
  #agreement: Agreement = 'unknown';
  /** Topics that spoke the protocol of this process when a look at the fleet last showed that all do. */
  #sharing: ReadonlySet<string> = new Set();

  constructor(options: TopicRegistryOptions) {
    this.#options = options;
  }

  settings(topic: string): TopicSettings {
    let settings = this.#settings.get(topic);
    if (!settings) this.#settings.set(topic, (settings = this.#options.settingsOf(topic)));
    return settings;
  }

  /** Number of partitions of every topic that this process has used. */
  get known(): ReadonlyMap<string, number> {
    return this.#partitions;
  }

  /** Returns its number of partitions; `undefined` if this process has not asked yet. */
  knownPartitions(topic: string): number | undefined {
    return this.#partitions.get(topic);
  }

  /** Returns the protocol that it spoke when this process last looked; `undefined` if this process has not asked yet. */
  knownProtocol(topic: string): number | undefined {
    return this.#protocols.get(topic);
  }

  /**
   * Notes whether all processes speak the protocol of this one; call this after each look at the fleet.
   *
   * @returns the topics that {@link restore} raises now
   */
  fleetIs(agreement: Agreement): string[] {
    this.#agreement = agreement;
    const isAlike = agreement === 'alike' || agreement === 'settled';
    this.#sharing = new Set(isAlike ? this.#speaking(PROTOCOL_VERSION) : []);
    return agreement === 'settled' ? this.#speaking(PROTOCOL_BEFORE) : [];
  }

  /**
   * Whether deliveries of a topic may share records. A process that does not know them cannot boot, and a look has shown that none lives that
   * was booting when the topic was raised.
   */
  mayShareRecords(topic: string): boolean {
    return this.#sharing.has(topic) && this.#protocols.get(topic) === PROTOCOL_VERSION;
  }

  #speaking(spoken: number): string[] {
    return [...this.#protocols].flatMap(([topic, protocol]) => (protocol === spoken ? [topic] : []));
  }

  /** Returns its order; `undefined` if it has none, or this process has not asked yet. */
  knownOrder(topic: string): TopicOrder | undefined {
    return this.#orders.get(topic);
  }

  /** Returns the terms that were stored with it when this process last looked. */
  terms(topic: string): TopicTerms {
    return { limits: this.#limits.get(topic), handling: this.#handling.get(topic) };
  }

  /**
   * Adopts these terms for a topic; {@link storeTerms} has to follow.
   *
   * @returns the terms before; `undefined` if these are stored
   */
  takeTerms(topic: string, terms: TopicTerms): TopicTerms | undefined {
    const before = this.terms(topic);
    this.#learnTerms(topic, terms);
    return isDeepStrictEqual(comparable(before), comparable(terms)) ? undefined : before;
  }

  /** @throws BrokerUnavailableError */
  async storeTerms(topic: string): Promise<void> {
    await this.#options.store.fleet.setTerms(topic, this.terms(topic));
  }

  /**
   * Reads which terms are stored, and which protocol.
   *
   * @returns limits that have changed
   * @throws BrokerUnavailableError
   */
  async relearnTerms(topics: readonly string[]): Promise<LimitsChange[]> {
    const { store } = this.#options;
    const [first] = topics;
    const configs =
      topics.length === 1 ? [await store.fleet.configOf(first as string)] : await store.fleet.configsOf(topics);
    const changes: LimitsChange[] = [];
    for (const [i, topic] of topics.entries()) {
      const found = configs[i];
      // Terms that Redis has lost are stored again.
      if (!found) continue;
      const config = await this.#saidAgain(topic, found);
      const text = describeLimits(config.limits);
      const before = describeLimits(this.#limits.get(topic));
      this.#protocols.set(topic, config.protocol);
      this.#learnTerms(topic, config);
      if (text !== before) changes.push({ topic, limits: config.limits, text });
    }
    return changes;
  }

  /**
   * Stores the terms that this process knows if there are none, unless it was stored that there are none: after a loss, a process that knew no
   * terms may have been the first to use the topic again.
   */
  async #saidAgain(topic: string, config: TopicConfig): Promise<TopicConfig> {
    const known = this.terms(topic);
    if (hasTerms(config) || !hasTerms(known)) return config;
    return this.#configure(topic, config.partitions, config.order, known);
  }

  /**
   * Returns its number of partitions. The first process to use a topic fixes it, and its order.
   *
   * @throws ConfigurationError if this process is configured with another number or order, or speaks another protocol
   * @throws BrokerUnavailableError
   */
  async partitions(topic: string): Promise<number> {
    const { partitions = DEFAULT_PARTITIONS, order } = this.settings(topic);
    const wanted = order === 'none' ? undefined : order;
    return this.#learn(topic, await this.#configure(topic, partitions, wanted));
  }

  /**
   * Learns the numbers of many topics, with one call for all that Redis knows already.
   *
   * @returns those that cannot be reached now; all others are known
   * @throws ConfigurationError as {@link partitions}
   * @throws BrokerUnavailableError if Redis refuses for good
   */
  async load(topics: readonly string[]): Promise<UnreachableTopic[]> {
    const { store, clock } = this.#options;
    // If this fails each topic is asked for by itself, which may be in another part of Redis.
    const configs = await within(clock, PATIENCE, store.fleet.configsOf(topics)).catch(() => []);
    const loads = topics.map(async (topic, i): Promise<UnreachableTopic | undefined> => {
      const config = configs[i];
      if (config) {
        this.#learn(topic, config);
        return undefined;
      }
      try {
        const error = (): Error => new BrokerUnavailableError(`Topic '${topic}' does not answer`);
        await within(clock, PATIENCE, this.partitions(topic), { error });
        return undefined;
      } catch (error) {
        if (error instanceof BrokerUnavailableError && error.transient) return { topic, error };
        throw error;
      }
    });
    return (await Promise.all(loads)).filter((one) => one !== undefined);
  }

  /**
   * Writes the number of partitions of a topic and its order again, since Redis may have lost them, and raises its protocol if the fleet
   * has settled on a later one. Calls during a call are one that follows it: the one that runs may have been answered before the loss.
   *
   * @throws BrokerUnavailableError
   */
  async restore(topic: string): Promise<void> {
    const run = async (): Promise<void> => onceFor(this.#restoring, topic, async () => this.#restore(topic));
    const running = this.#restoring.get(topic);
    if (!running) return run();
    return onceFor(this.#toRestore, topic, async () => running.catch(() => {}).then(run));
  }

  async #restore(topic: string): Promise<void> {
    const { onChanged } = this.#options;
    const known = this.#partitions.get(topic);
    if (known === undefined) return;
    const knownOrder = this.#orders.get(topic);
    const { partitions, order, protocol } = await this.#configure(topic, known, knownOrder, this.terms(topic));
    this.#protocols.set(topic, protocol);
    if (partitions === known && order === knownOrder) return;
    const difference =
      partitions === known
        ? `${ORDERS[order ?? 'none']} in Redis, and this process works with one that ${ORDERS[knownOrder ?? 'none']}`
        : `has ${partitions} partitions in Redis, and this process works with ${known}`;
    onChanged(
      new ConfigurationError(
        `Topic '${topic}' ${difference}: Redis has lost the topic, and a process with another configuration was the first to use ` +
          `it again. Give all processes the same options, and restart those that have others.`,
      ),
    );
  }

  #configure(topic: string, partitions: number, order?: TopicOrder, terms?: TopicTerms): Promise<TopicConfig> {
    return this.#options.store.fleet.configure(topic, partitions, order, terms, PROTOCOLS[this.#agreement]);
  }

  #learn(topic: string, { partitions, protocol, order, ...terms }: TopicConfig): number {
    assertProtocol(topic, protocol);
    const { partitions: wanted, order: wantedOrder } = this.settings(topic);
    if (wanted !== undefined && wanted !== partitions) {
      throw new ConfigurationError(
        `Topic '${topic}' has ${partitions} partitions, but this process is configured with ${wanted}. The number is ` +
          `fixed at the first use of a topic: configure ${partitions}, or leave 'partitions' out, or use another topic.`,
      );
    }
    if (wantedOrder !== undefined && wantedOrder !== (order ?? 'none')) {
      throw new ConfigurationError(
        `Topic '${topic}' ${ORDERS[order ?? 'none']}, but this process is configured with one that ${ORDERS[wantedOrder]}. That is ` +
          `fixed at the first use of a topic: configure the same, or leave 'ordered' out, or use another topic.`,
      );
    }
    if (order && this.settings(topic).delivery === 'at-most-once') {
      throw new ConfigurationError(
        `Topic '${topic}' ${ORDERS[order]}, but this process is configured to deliver it at most once, which knows no order: ` +
          `configure 'at-least-once', or use another topic.`,
      );
    }
    this.#partitions.set(topic, partitions);
    this.#protocols.set(topic, protocol);
    if (order) this.#orders.set(topic, order);
    this.#learnTerms(topic, terms);
    return partitions;
  }

  #learnTerms(topic: string, { limits, handling }: TopicTerms): void {
    if (limits) this.#limits.set(topic, limits);
    else this.#limits.delete(topic);
    if (handling) this.#handling.set(topic, handling);
    else this.#handling.delete(topic);
  }
}

function hasTerms({ limits, handling }: TopicTerms): boolean {
  return limits !== undefined || handling !== undefined;
}

/** Makes terms comparable: missing and undefined members are the same. */
function comparable({ limits, handling = {} }: TopicTerms): unknown {
  return [describeLimits(limits), JSON.parse(JSON.stringify(handling))];
}

/** Makes a call; callers during a call share it. */
async function onceFor(calls: Map<string, Promise<void>>, key: string, call: () => Promise<void>): Promise<void> {
  let current = calls.get(key);
  if (!current) calls.set(key, (current = call().finally(() => calls.delete(key))));
  return current;
}
