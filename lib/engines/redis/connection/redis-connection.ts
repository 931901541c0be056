import type { Redis } from 'ioredis';
import type { Log } from '../../../log.js';
import { type Clock, SystemClock } from '../../../time/clock.js';
import { BrokerUnavailableError } from '../../../errors/operation.errors.js';
import type { DelayQueueError } from '../../../errors/delay-queue.error.js';
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
  falseAlarmsOf,
  openForReplicas,
  primaryKnown,
  tlsOf,
} from './redis-clients.js';
import { isConnectionLoss, isTelling, toBrokerError, withoutSecrets } from './redis-errors.js';
import { RedisNodes } from './redis-nodes.js';
import type { RedisSettings } from './which-redis.js';
import { ReplicaWatch, SentinelWatch } from './primary-watch.js';
import { lookSparingly } from './slot-looks.js';

/** Longest time for finding out why a connection fails, in milliseconds. */
const DIAGNOSIS_TIME = 1000;

/** The two connections of a module: one for commands, and one for the signals of other processes. */
export class RedisConnection {
  readonly commands: RedisClient;
  /** Host and port, for messages. */
  readonly address: string;
  /** The servers that calls go to. */
  readonly nodes: RedisNodes;
  readonly #clock: Clock;
  readonly #timeout: number;
  readonly #outage: OutageLog;
  readonly #openClient: OpenClient;
  readonly #attachments: ((subscriber: RedisClient) => void)[] = [];
  readonly #replicaWatch: ReplicaWatch;
  readonly #sentinelWatch: SentinelWatch;
  /** Clients for reads that wait. */
  readonly #readers = new Set<RedisClient>();
  #subscriber: RedisClient;
  #opening: Promise<void> | undefined;
  /** Reason why it could not be opened, and was closed. */
  #failure: DelayQueueError | undefined;
  #primaryKnown: Promise<void> | undefined;
  #isOpen = false;
  #closing = false;
  readonly #errorListeners = new Set<(error: Error) => void>();

  /**
   * @param timeout longest time until the connections are there, in milliseconds
   * @throws ConfigurationError if the settings have a keyPrefix, or a database that there cannot be
   */
  constructor(ioredis: IoRedis, settings: RedisSettings, log: Log, timeout: number, clock: Clock = new SystemClock()) {
    this.#clock = clock;
    this.#timeout = timeout;
    this.#openClient = clientsOf(ioredis, settings, () => !this.#closing && this.#replicaWatch.refused());
    this.commands = this.#openClient('commands');
    assertNoKeyPrefix(this.commands);
    assertDatabase(this.commands);
    this.address = addressOfClient(this.commands);
    const { commands: client, address } = this;
    this.nodes = new RedisNodes({ ioredis, client, address, clock });
    this.#replicaWatch = new ReplicaWatch({ address, clock, log, follow: () => this.#leaveReplica() });
    this.#sentinelWatch = new SentinelWatch({ ioredis, address, log });
    this.#outage = new OutageLog({
      address,
      clock,
      log,
      explain: async (error) => this.#explain(error, DIAGNOSIS_TIME),
    });
    this.#subscriber = this.#openClient('subscriber');
    this.#watch(this.commands, 'commands');
    this.#watch(this.#subscriber, 'subscriber');
  }

  /** Current client for signals; see {@link useSubscriber}. */
  get subscriber(): RedisClient {
    return this.#subscriber;
  }

  /** Calls `attach` with the client for signals, and with each that takes its place. */
  useSubscriber(attach: (subscriber: RedisClient) => void): void {
    this.#attachments.push(attach);
    attach(this.#subscriber);
  }

  /**
   * Turns the failure of a command into an error of this library, with the reason that the connection gave, if it did. If it was
   * closed on purpose, the error is not transient: it is not opened again.
   *
   * @param key of the command: in a cluster the error names the node that holds it
   */
  toError(error: unknown, key?: string): DelayQueueError {
    if (this.#closing && isConnectionLoss(error)) return this.#closedError(withoutSecrets(error));
    const node = key === undefined || !this.commands.isCluster ? undefined : this.nodes.of(key);
    const cause = isConnectionLoss(error) ? (node?.failure?.error ?? this.#outage.cause ?? error) : error;
    return toBrokerError(cause, node ? `${node.address} of ${this.address}` : this.address);
  }

  /**
   * Connects, and looks at the servers' version and at what they can do; once, however many ask for it. Of a cluster, one node
   * that answers is enough.
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
      await bootClients({
        commands: this.commands,
        subscriber: this.#subscriber,
        nodes: this.nodes,
        address: this.address,
        timeout: this.#timeout,
        clock: this.#clock,
        // A server that says nothing is looked at before the time is over.
        look: async () => this.#explain(this.#outage.cause, this.#timeout / 2),
        explain: async () => this.#outage.explained(),
      });
    } catch (error) {
      this.#failure = this.toError(error);
      this.close();
      throw this.#failure;
    }
    this.#isOpen = true;
    this.#outage.start();
    this.#sentinelWatch.start(this.commands);
  }

  /** Whether the connections were made: from then on commands can be sent, though they fail while Redis is away. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /**
   * Resolves once commands can be sent. A caller that publishes before the module is initialized, in a constructor or a factory,
   * makes it connect.
   *
   * @throws what {@link connect} throws; BrokerUnavailableError if the Sentinels know no primary, and one that does not pass
   *   after this was closed
   */
  async ready(): Promise<void> {
    if (this.#closing) throw this.#closedError(undefined);
    await this.connect();
    await (this.#primaryKnown ??= this.#assertPrimary().finally(() => (this.#primaryKnown = undefined)));
  }

  /** @throws BrokerUnavailableError with the error of the Sentinels */
  async #assertPrimary(): Promise<void> {
    try {
      await primaryKnown(this.commands);
    } catch (error) {
      const cause = this.#outage.cause ?? error;
      throw this.toError(isConnectionLoss(cause) ? await this.#outage.explained() : cause);
    }
  }

  /**
   * Sends a command as soon as possible.
   *
   * @param key of the command, if the node that holds it has to answer
   * @throws BrokerUnavailableError, or what {@link connect} throws
   */
  async send<T>(command: (redis: RedisClient) => Promise<T>, key?: string): Promise<T> {
    try {
      if (!this.isUp('commands')) await this.ready();
      if (key !== undefined) this.nodes.assertReachable(key);
      return await command(this.commands);
    } catch (error) {
      throw this.toError(error, key);
    }
  }

  /** Whether signals about a key stay on the cluster's node that holds it. See docs/decisions/0041. */
  isSharded(key: string): boolean {
    return this.commands.isCluster && this.nodes.of(key).traits.shardedPubSub;
  }

  /** Whether a connection takes commands; one that is half dead does so too. */
  isUp(connection: Purpose): boolean {
    return !this.#closing && this[connection].status === 'ready';
  }

  /**
   * Ends a connection and makes it anew; calls that wait on it fail. One for commands that is not up is being made already. That
   * for signals gets a new client: a client can be in a state in which it subscribes no more, see
   * docs/decisions/0041.
   */
  rebuild(connection: Purpose): void {
    if (this.#closing) return;
    if (connection === 'commands') {
      if (this.isUp('commands')) this.commands.disconnect(true);
      return;
    }
    this.#replicaWatch.close();
    this.#subscriber.disconnect();
    this.#subscriber = this.#openClient('subscriber');
    this.#watch(this.#subscriber, 'subscriber');
    for (const attach of this.#attachments) attach(this.#subscriber);
    // If this fails it is tried again, as on a connection that was lost.
    this.#subscriber.connect().catch(() => {});
  }

  /** Calls the listener with each error that no call waits for, until the connections are closed. */
  onError(listener: (error: Error) => void): () => void {
    this.#errorListeners.add(listener);
    return () => this.#errorListeners.delete(listener);
  }

  /** Call this with an error that no call is answered with. */
  tellError(error: Error): void {
    if (this.#closing) return;
    for (const listener of this.#errorListeners) listener(error);
  }

  /** Opens another client like that for commands, for reads that wait. Its commands fail with the errors of its connection. */
  openAnother(): RedisClient {
    const client = this.#openClient('commands');
    this.#readers.add(client);
    client.on('end', () => this.#readers.delete(client));
    return this.#unwatched(client);
  }

  /**
   * Opens another client for the server of the given one, on which Redis may wait for replicas. It connects again if the given one
   * does, which a node of a Cluster does not: its slots may have another primary by then.
   */
  openForReplicas(template: Redis): Redis {
    return this.#unwatched(openForReplicas(template));
  }

  close(): void {
    this.#closing = true;
    this.#replicaWatch.close();
    this.#sentinelWatch.close();
    this.#outage.close();
    this.commands.disconnect();
    this.#subscriber.disconnect();
  }

  #closedError(cause: unknown): BrokerUnavailableError {
    const message = this.#failure?.message ?? `The connection to Redis at ${this.address} was closed`;
    return new BrokerUnavailableError(message, { cause: this.#failure ?? cause, transient: false });
  }

  /** Makes the connections anew that only read, since they would stay at a server that has become a replica. */
  #leaveReplica(): void {
    this.rebuild('subscriber');
    // ioredis ends a client for ever if it has to disconnect while it asks a Sentinel.
    for (const client of this.#readers) if (client.status === 'ready') client.disconnect(true);
  }

  #prepare(client: RedisClient): void {
    endSocketTimers(client);
    lookSparingly(client, this.#clock);
    this.#sentinelWatch.add(client);
  }

  /** Prepares a client whose failures only its callers see. */
  #unwatched<T extends RedisClient>(client: T): T {
    this.#prepare(client);
    client.on('error', (error: Error) => endIfRefused(client, error));
    return client;
  }

  /** Returns the cause of an error of a connection that says little by itself. */
  async #explain(error: Error | undefined, patience: number): Promise<Error | undefined> {
    if (error && isTelling(error)) return error;
    return (await diagnose(clientEndpoints(this.commands), tlsOf(this.commands), patience, this.#clock)) ?? error;
  }

  #watch(client: RedisClient, connection: Purpose): void {
    let isRefused = false;
    const isFalseAlarm = falseAlarmsOf(client);
    this.#prepare(client);
    client.on('error', (error: Error) => {
      // Errors of a client that was replaced are of no interest any more.
      if (client !== this[connection] || isFalseAlarm(error)) return;
      withoutSecrets(error);
      isRefused ||= endIfRefused(client, error);
      // An error of a cluster that serves is that of one of its nodes.
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
