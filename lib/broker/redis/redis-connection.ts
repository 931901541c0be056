import type { Log } from '../../log.js';
import { type Clock, SystemClock, type Timer } from '../../time/clock.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import type { DelayQueueError } from '../../errors/delay-queue.error.js';
import { bootClients } from './boot-clients.js';
import { diagnose } from './diagnosis.js';
import { OutageLog } from './outage-log.js';
import { clientEndpoints } from './redis-address.js';
import {
  type IoRedis,
  type OpenClient,
  type Purpose,
  type RedisClient,
  addressOfClient,
  assertDatabase,
  assertNoKeyPrefix,
  clientsOf,
  endIfRefused,
  endSocketTimers,
  tlsOf,
} from './redis-clients.js';
import { isConnectionLoss, isTelling, toBrokerError, withoutSecrets } from './redis-errors.js';
import type { RedisSettings } from './redis-settings.js';

/** Longest time to find out why a connection fails, in milliseconds. */
const DIAGNOSIS_TIME = 1000;

/**
 * After the last READONLY, in milliseconds: by then calls go to the primary, and what is signalled comes from there. Signals
 * that were made anew at once could end at the same replica.
 */
const SIGNALS_FOLLOW_AFTER = 500;

/**
 * Calls that a replica refuses within this time, in milliseconds, were sent on the same connection: it takes longer until
 * there is another one.
 */
const LEAVING_TIME = 50;

/** Calls that a replica refuses within this time, in milliseconds, tell of one failover, which is worth one warning. */
const FAILOVER_TIME = 10_000;

/** The two connections of a module: one for commands, and one for the signals of other processes. */
export class RedisConnection {
  readonly commands: RedisClient;
  /** Host and port, for messages. */
  readonly address: string;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #timeout: number;
  readonly #outage: OutageLog;
  readonly #openClient: OpenClient;
  readonly #attachments: ((subscriber: RedisClient) => void)[] = [];
  #subscriber: RedisClient;
  #signalsFollow: Timer | undefined;
  /** When a call was last refused by a replica, epoch milliseconds on the local clock. */
  #readOnlyAt = -Infinity;
  /** When a connection was last left for that, likewise. */
  #leftAt = -Infinity;
  #opening: Promise<void> | undefined;
  #isOpen = false;
  #isRedis7 = false;
  #closing = false;
  readonly #errorListeners = new Set<(error: Error) => void>();

  /**
   * @param timeout longest time until the connections are there, in milliseconds
   * @throws ConfigurationError if the settings have a keyPrefix, or a database that there cannot be
   */
  constructor(ioredis: IoRedis, settings: RedisSettings, log: Log, timeout: number, clock: Clock = new SystemClock()) {
    this.#log = log;
    this.#clock = clock;
    this.#timeout = timeout;
    this.#openClient = clientsOf(ioredis, settings, () => this.#followPrimary());
    this.commands = this.#openClient('commands');
    assertNoKeyPrefix(this.commands);
    assertDatabase(this.commands);
    this.address = addressOfClient(this.commands);
    this.#outage = new OutageLog({
      address: this.address,
      log,
      explain: async (error) => this.#explain(error, DIAGNOSIS_TIME),
    });
    this.#subscriber = this.#openClient('subscriber');
    this.#watch(this.commands, 'commands');
    this.#watch(this.#subscriber, 'subscriber');
  }

  /** The client for signals at this moment; see {@link useSubscriber}. */
  get subscriber(): RedisClient {
    return this.#subscriber;
  }

  /** Calls `attach` with the client for signals, and with each that takes its place. */
  useSubscriber(attach: (subscriber: RedisClient) => void): void {
    this.#attachments.push(attach);
    attach(this.#subscriber);
  }

  /**
   * What a failed command comes to: an error of this library, with the reason the connection gave, if it did. If it was
   * closed on purpose, the error is not transient: nobody opens it again.
   */
  toError(error: unknown): DelayQueueError {
    if (this.#closing && isConnectionLoss(error)) return this.#closedError(withoutSecrets(error));
    return toBrokerError(isConnectionLoss(error) ? (this.#outage.cause ?? error) : error, this.address);
  }

  /** Whether the server has what came with Redis 7: script flags, and pub/sub that stays on a partition's cluster node. */
  get isRedis7(): boolean {
    return this.#isRedis7;
  }

  /**
   * Connects and looks at the server's version; once, however many ask for it.
   *
   * @throws BrokerUnavailableError if it cannot be reached in time; the message has host and port
   * @throws ConfigurationError if it is older than Redis 6.2, or does not let this connection have its database, or a
   *   cluster is to be used with an ioredis older than 6
   */
  async connect(): Promise<void> {
    this.#opening ??= this.#open();
    await this.#opening;
  }

  async #open(): Promise<void> {
    try {
      this.#isRedis7 = await bootClients({
        commands: this.commands,
        subscriber: this.#subscriber,
        address: this.address,
        timeout: this.#timeout,
        clock: this.#clock,
        // A server that says nothing is looked at before the time is over.
        look: async () => this.#explain(this.#outage.cause, this.#timeout / 2),
        explain: async () => this.#outage.explained(),
      });
    } catch (error) {
      const reason = this.toError(error);
      this.close();
      throw reason;
    }
    this.#isOpen = true;
    this.#outage.start();
  }

  /** Whether the connections were made: from then on commands can be sent, though they fail while Redis is away. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /**
   * Resolves once commands can be sent. Who publishes before the module is initialized, in a constructor or a factory, is
   * the one who connects.
   *
   * @throws what {@link connect} throws; BrokerUnavailableError that does not pass, after that
   */
  async ready(): Promise<void> {
    if (this.#closing) throw this.#closedError(undefined);
    await this.connect();
  }

  /**
   * Sends a command, as soon as that can be.
   *
   * @throws BrokerUnavailableError, or what {@link connect} throws
   */
  async send<T>(command: (redis: RedisClient) => Promise<T>): Promise<T> {
    try {
      if (!this.#isOpen) await this.ready();
      return await command(this.commands);
    } catch (error) {
      throw this.toError(error);
    }
  }

  /** The command by which scripts signal; known once connected. */
  get publishCommand(): 'SPUBLISH' | 'PUBLISH' {
    return this.#isRedis7 ? 'SPUBLISH' : 'PUBLISH';
  }

  /** Whether a connection takes commands; one that is half dead does so too. */
  isUp(connection: Purpose): boolean {
    return !this.#closing && this[connection].status === 'ready';
  }

  /**
   * Ends a connection and makes it anew; what waits for an answer on it fails. One for commands that is not up is being made
   * already. That for signals gets a new client: a client can be in a state in which it subscribes no more, see
   * docs/decisions/0041.
   */
  rebuild(connection: Purpose): void {
    if (this.#closing) return;
    if (connection === 'commands') {
      if (this.isUp('commands')) this.commands.disconnect(true);
      return;
    }
    this.#signalsFollow?.cancel();
    this.#subscriber.disconnect();
    this.#subscriber = this.#openClient('subscriber');
    this.#watch(this.#subscriber, 'subscriber');
    for (const attach of this.#attachments) attach(this.#subscriber);
    // If this fails it is tried again, as on a connection that was lost.
    this.#subscriber.connect().catch(() => {});
  }

  /** Calls the listener with each error that nobody waits for, until the connections are closed. */
  onError(listener: (error: Error) => void): () => void {
    this.#errorListeners.add(listener);
    return () => this.#errorListeners.delete(listener);
  }

  /** To be called with an error that no call is answered with. */
  tellError(error: Error): void {
    if (this.#closing) return;
    for (const listener of this.#errorListeners) listener(error);
  }

  /** A further client like that for commands, for reads that wait. What its connection fails with, its commands say. */
  openAnother(): RedisClient {
    const client = this.#openClient('commands');
    endSocketTimers(client);
    client.on('error', (error: Error) => endIfRefused(client, error));
    return client;
  }

  close(): void {
    this.#closing = true;
    this.#signalsFollow?.cancel();
    this.#outage.close();
    this.commands.disconnect();
    this.#subscriber.disconnect();
  }

  #closedError(cause: unknown): BrokerUnavailableError {
    return new BrokerUnavailableError(`The connection to Redis at ${this.address} was closed`, {
      cause,
      transient: false,
    });
  }

  /**
   * The primary has become a replica, behind an address that leads to another server or will. ioredis makes the connection
   * of the refused call anew; the one for signals is never refused anything, so it is made anew here.
   *
   * @returns whether the connection of the refused call is to be made anew: once, however many calls are refused on it
   */
  #followPrimary(): boolean {
    if (this.#closing) return false;
    const now = this.#clock.now();
    if (now - this.#readOnlyAt > FAILOVER_TIME) {
      this.#log.warn(`Redis at ${this.address} has become a read-only replica; the connections are made anew`);
    }
    this.#readOnlyAt = now;
    this.#signalsFollow?.cancel();
    this.#signalsFollow = this.#clock.setTimer(SIGNALS_FOLLOW_AFTER, () => this.rebuild('subscriber'));
    if (now - this.#leftAt < LEAVING_TIME) return false;
    this.#leftAt = now;
    return true;
  }

  /** What is behind an error of a connection that says little by itself. */
  async #explain(error: Error | undefined, patience: number): Promise<Error | undefined> {
    if (error && isTelling(error)) return error;
    return (await diagnose(clientEndpoints(this.commands), tlsOf(this.commands), patience)) ?? error;
  }

  #watch(client: RedisClient, connection: Purpose): void {
    let isRefused = false;
    endSocketTimers(client);
    client.on('error', (error: Error) => {
      // Of a client whose place was taken nothing is of interest any more.
      if (client !== this[connection]) return;
      withoutSecrets(error);
      isRefused ||= endIfRefused(client, error);
      // What a cluster says while it serves is of one of its nodes.
      if (!client.isCluster || client.status !== 'ready') this.#outage.failed(connection, error);
      this.tellError(error);
    });
    client.on('close', () => {
      isRefused = false;
      if (client === this[connection]) this.#outage.failed(connection);
    });
    client.on('ready', () => {
      if (!isRefused && client === this[connection]) this.#outage.recovered(connection);
    });
  }
}
