import type { Clock } from '../../../time/clock.js';
import type { Log } from '../../../log.js';
import { sleep } from '../../../time/sleep.js';
import { TimeUp, within } from '../../../time/deadline.js';
import { Loop } from '../../../time/loop.js';
import { BrokerUnavailableError } from '../../../errors/operation.errors.js';
import type { Unsubscribe } from '../../../store/driver.interface.js';
import type { RedisConnection } from './redis-connection.js';
import { CONNECTION_CLOSED } from './redis-errors.js';

/** Longest time that a subscription, or a call made for comparison, waits for its answer; in milliseconds. */
const ANSWER_TIMEOUT = 2000;

/** Pause between a failed subscription and the next try, in milliseconds. */
const FIRST_PAUSE = 25;
const LONGEST_PAUSE = 1000;

/** Time for which subscriptions fail while calls are answered before their client is replaced, in milliseconds. */
const FIRST_PATIENCE = 2000;
const LONGEST_PATIENCE = 60_000;

/** Time between two checks that each connection for signals in a cluster still answers, in milliseconds. */
const CHECK_PERIOD = 60_000;

export interface SignalSubscriberOptions {
  readonly connection: RedisConnection;
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds. @defaultValue a minute */
  readonly checkPeriod?: number;
}

interface Listener {
  readonly onMessage: (message: string) => void;
  readonly onListening: (() => void) | undefined;
}

interface Failure {
  readonly channel: Channel;
  readonly error: unknown;
}

interface Channel {
  readonly name: string;
  readonly listeners: Set<Listener>;
  /** Whether the server has confirmed it on the current connection. */
  confirmed: boolean;
  /** The node of a cluster that has confirmed it: host and port. */
  node: string | undefined;
}

/**
 * Receives what other processes publish on channels. It subscribes until every channel is confirmed: again after each
 * reconnect, and on a new client if this one keeps failing while calls are answered. In a cluster it looks once a minute whether
 * the connection to each node still answers.
 */
export class SignalSubscriber {
  readonly #connection: RedisConnection;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #channels = new Map<string, Channel>();
  readonly #checks: Loop;
  readonly #checkPeriod: number;
  /** Number of the connection: what was confirmed on an earlier one no longer holds. */
  #epoch = 0;
  /** Nodes of a cluster whose connections have ended since their channels were confirmed. */
  readonly #ended = new Set<string>();
  #closed = false;
  #trying = false;
  /** Ends the pause between two tries. */
  #hurry = new AbortController();
  #patience = FIRST_PATIENCE;
  /** Time since which subscriptions fail though calls are answered, epoch milliseconds on the local clock. */
  #failingSince: number | undefined;

  constructor({ connection, clock, log, checkPeriod = CHECK_PERIOD }: SignalSubscriberOptions) {
    this.#connection = connection;
    this.#clock = clock;
    this.#log = log;
    const deliver = (channel: string, message: string): void => {
      for (const { onMessage } of this.#channels.get(channel)?.listeners ?? []) onMessage(message);
    };
    connection.useSubscriber((client) => {
      client.on('message', deliver);
      client.on('smessage', deliver);
      client.on('ready', () => this.#beginAnew());
      // Emitted when a cluster has connected to one of its nodes anew, or to another one, or when slots have moved.
      client.on('subscribersReady', () => this.#beginAnew((channel) => this.#isElsewhere(channel)));
      client.on('-node', (_connection: unknown, node?: string) => node !== undefined && this.#ended.add(node));
    });
    connection.nodes.onTraits(() => this.#beginAnew());
    this.#checkPeriod = checkPeriod;
    this.#checks = new Loop({
      clock,
      run: async () => {
        await this.#check();
        return this.#checkPeriod;
      },
    });
  }

  /** @param onListening see {@link SignalSource.watchPartition} */
  subscribe(name: string, onMessage: Listener['onMessage'], onListening?: () => void): Unsubscribe {
    let channel = this.#channels.get(name);
    if (!channel)
      this.#channels.set(name, (channel = { name, listeners: new Set(), confirmed: false, node: undefined }));
    const listener: Listener = { onMessage, onListening };
    channel.listeners.add(listener);
    if (this.#connection.commands.isCluster) this.#checks.later(this.#checkPeriod);
    // At once, and not behind a round of tries that waits for others.
    if (this.#connection.isUp('subscriber')) this.#subscribeInTime(channel).catch(() => this.#tryAgain());
    else this.#tryAgain();
    return async () => {
      // If this fails the connection is gone, and the subscription with it.
      if (this.#remove(name, listener)) await this.#send('unsubscribe', name).catch(() => {});
    };
  }

  /**
   * Resolves once every channel is confirmed, and each connection has answered once more.
   *
   * @throws BrokerUnavailableError
   */
  async confirm(): Promise<void> {
    const channels = [...this.#channels.values()];
    try {
      await Promise.all(channels.filter(({ confirmed }) => !confirmed).map((channel) => this.#subscribe(channel)));
      await Promise.all(this.#oneOfEachNode().map((channel) => this.#ask(channel)));
    } catch (error) {
      this.#tryAgain();
      throw this.#connection.toError(error);
    }
  }

  close(): void {
    this.#closed = true;
    void this.#checks.stop();
    this.#hurry.abort();
  }

  /** @param isLost whether the subscription of a channel is gone, or may be */
  #beginAnew(isLost: (channel: Channel) => boolean = () => true): void {
    this.#epoch++;
    for (const channel of this.#channels.values()) if (isLost(channel)) channel.confirmed = false;
    this.#ended.clear();
    this.#hurry.abort();
    this.#tryAgain();
  }

  #tryAgain(): void {
    if (this.#trying || this.#closed) return;
    this.#trying = true;
    void this.#tryUntilConfirmed().finally(() => (this.#trying = false));
  }

  /** Never rejects. */
  async #tryUntilConfirmed(): Promise<void> {
    let pause = FIRST_PAUSE;
    while (!this.#closed) {
      const missing = [...this.#channels.values()].filter(({ confirmed }) => !confirmed);
      if (missing.length === 0) break;
      this.#hurry = new AbortController();
      const failures = await this.#subscribeToAll(missing);
      // A random one each time: those of one node may fail because it is away.
      const failure = failures[Math.floor(Math.random() * failures.length)];
      if (!failure) continue;
      await this.#judge(failure);
      await sleep(this.#clock, pause, this.#hurry.signal);
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    }
    this.#failingSince = undefined;
    this.#patience = FIRST_PATIENCE;
  }

  async #subscribeToAll(channels: readonly Channel[]): Promise<Failure[]> {
    if (!this.#connection.isUp('subscriber')) {
      return channels.map((channel) => ({ channel, error: new Error('their connection is not up') }));
    }
    const results = await Promise.allSettled(channels.map(async (channel) => this.#subscribeInTime(channel)));
    const failures = results.flatMap((result, i) =>
      result.status === 'rejected' ? [{ channel: channels[i] as Channel, error: result.reason as unknown }] : [],
    );
    if (failures[0]) this.#connection.tellError(this.#connection.toError(failures[0].error));
    return failures;
  }

  /** Replaces the client if it is to blame: calls to the node of the channel are answered, and have been for a while. */
  async #judge({ channel, error }: Failure): Promise<void> {
    if (!(await this.#answersCalls(channel))) {
      this.#failingSince = undefined;
      return;
    }
    const now = this.#clock.now();
    this.#failingSince ??= now;
    if (now - this.#failingSince < this.#patience || this.#closed) return;
    this.#failingSince = undefined;
    this.#patience = Math.min(this.#patience * 2, LONGEST_PATIENCE);
    const failure = this.#connection.toError(error);
    const passes = failure instanceof BrokerUnavailableError && failure.transient;
    this.#log.warn(
      `Signals cannot be subscribed to, though Redis answers calls: ${failure.message}` +
        (passes ? '; their connection is made anew' : ''),
    );
    // A right that is missing would be missing on a new connection too.
    if (passes) this.#connection.rebuild('subscriber');
  }

  async #answersCalls({ name }: Channel): Promise<boolean> {
    if (!this.#connection.isUp('commands')) return false;
    const answer = this.#connection.send((redis) => redis.pttl(name), name);
    return within(this.#clock, ANSWER_TIMEOUT, answer).then(
      () => true,
      () => false,
    );
  }

  /** Whether another node holds the channel now, or the connection to its node has ended. */
  #isElsewhere({ name, node }: Channel): boolean {
    return node === undefined || this.#ended.has(node) || this.#nodeOf(name) !== node;
  }

  #nodeOf(name: string): string | undefined {
    const { nodes, subscriber } = this.#connection;
    return nodes.addressOf(name, subscriber);
  }

  /** Returns a confirmed channel for each connection; there is one to each node of a cluster that has any. */
  #oneOfEachNode(): Channel[] {
    const channels = new Map<string | undefined, Channel>();
    for (const channel of this.#channels.values()) if (channel.confirmed) channels.set(channel.node, channel);
    return [...channels.values()];
  }

  /** Never rejects. */
  async #check(): Promise<void> {
    if (this.#connection.isUp('subscriber'))
      await Promise.all(this.#oneOfEachNode().map((channel) => this.#checkNode(channel)));
  }

  /** A connection that does not answer though the node does is made anew. Never rejects. */
  async #checkNode(channel: Channel): Promise<void> {
    try {
      await within(this.#clock, ANSWER_TIMEOUT, this.#ask(channel));
    } catch (error) {
      if (error instanceof TimeUp && (await this.#answersCalls(channel)) && !this.#closed) {
        this.#log.warn(
          `Signals from Redis at ${channel.node} do not come through any more, though it answers calls; their connection is made anew`,
        );
        this.#connection.rebuild('subscriber');
      }
      this.#tryAgain();
    }
  }

  /**
   * Checks that the connection of a channel answers, by another channel beside it, which is left at once. ioredis keeps a list of
   * all subscriptions, in which a channel that is subscribed to again stands twice.
   */
  async #ask({ name, node }: Channel): Promise<void> {
    try {
      await this.#send('subscribe', `${name}:check`);
      await this.#send('unsubscribe', `${name}:check`);
    } catch (error) {
      for (const channel of this.#channels.values()) if (channel.node === node) channel.confirmed = false;
      throw error;
    }
  }

  async #subscribeInTime(channel: Channel): Promise<void> {
    await within(this.#clock, ANSWER_TIMEOUT, this.#subscribe(channel));
  }

  async #subscribe(channel: Channel): Promise<void> {
    const epoch = this.#epoch;
    const node = this.#nodeOf(channel.name);
    await this.#send('subscribe', channel.name);
    if (epoch !== this.#epoch || channel.confirmed) return;
    channel.confirmed = true;
    channel.node = node;
    for (const { onListening } of channel.listeners) onListening?.();
  }

  async #send(command: 'subscribe' | 'unsubscribe', channel: string): Promise<void> {
    const { subscriber, nodes } = this.#connection;
    const isSharded = this.#connection.isSharded(channel);
    // A closed client of a cluster keeps the commands that it gets, and never answers them.
    if (this.#closed) throw new Error(CONNECTION_CLOSED);
    if (command === 'subscribe' && isSharded) nodes.assertReachable(channel);
    if (command === 'subscribe') await (isSharded ? subscriber.ssubscribe(channel) : subscriber.subscribe(channel));
    else await (isSharded ? subscriber.sunsubscribe(channel) : subscriber.unsubscribe(channel));
  }

  /** @returns whether the channel has no listener any more */
  #remove(name: string, listener: Listener): boolean {
    const channel = this.#channels.get(name);
    if (!channel?.listeners.delete(listener) || channel.listeners.size > 0) return false;
    return this.#channels.delete(name);
  }
}
