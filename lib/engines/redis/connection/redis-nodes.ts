import type { Cluster, Redis } from 'ioredis';
import type { Clock } from '../../../time/clock.js';
import { TimeUp, within } from '../../../time/deadline.js';
import type { UnreachableServer } from '../../../store/broker.interface.js';
import type { IoRedis, RedisClient } from './redis-clients.js';
import { CONNECTION_CLOSED, isTelling, rootOf, withoutSecrets } from './redis-errors.js';
import { ServerClock } from '../../../store/server-clock.js';
import { FEWEST_TRAITS, findTraits, ServerInfo, type ServerTraits } from './server-info.js';
import { isReply } from '../../../store/redis-error-codes.js';

interface RedisNodeOptions {
  /** Host and port. */
  readonly address: string;
  readonly clock: Clock;
  /** Called when the estimate of its clock has stepped. */
  readonly onStep: () => void;
  /** Called when it turns out to support another kind of pub/sub than assumed. */
  readonly onTraits: () => void;
  /** A known node; this one is assumed to be like it until it answers. */
  readonly like: RedisNode | undefined;
}

/** Holds what this process knows of one server: its clock, its version, its traits, and whether it can be reached. */
class RedisNode {
  readonly address: string;
  /** The server's clock. */
  readonly clock: ServerClock;
  readonly #localClock: Clock;
  readonly #onTraits: () => void;
  #info: ServerInfo | undefined;
  #traits: ServerTraits;
  /** Whether the connection is new: another server may be behind the address then. */
  #isNew = true;
  #failure: UnreachableServer | undefined;
  #isAway = false;
  #asking: Promise<void> | undefined;

  constructor({ address, clock, onStep, onTraits, like }: RedisNodeOptions) {
    this.address = address;
    this.clock = new ServerClock(clock, onStep, like?.clock);
    this.#localClock = clock;
    this.#onTraits = onTraits;
    this.#info = like?.info;
    this.#traits = like?.traits ?? FEWEST_TRAITS;
  }

  /** Its report on itself in the section `server`; `undefined` until a server has answered. */
  get info(): ServerInfo | undefined {
    return this.#info;
  }

  /** Its traits, as far as they are known. */
  get traits(): ServerTraits {
    return this.#traits;
  }

  /** Reason why it cannot be reached; `undefined` if it can, or has not been tried. */
  get failure(): UnreachableServer | undefined {
    return this.#failure;
  }

  /** Whether the latest try to connect to it failed; a connection that was lost may be made again at once. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /** Call this with each connection to it. */
  watch(client: Redis): void {
    let wasReady = false;
    client.on('error', (error: Error) => this.failed(error));
    client.on('close', () => {
      this.#isNew = true;
      this.#isAway = !wasReady;
      wasReady = false;
      this.failed(new Error('the connection was closed'));
    });
    client.on('ready', () => {
      wasReady = true;
      this.#found();
      // If this fails the connection is gone, and the next one asks again.
      void this.ask(client).catch(() => {});
    });
  }

  failed(error: Error): void {
    const cause = rootOf(withoutSecrets(error));
    const { since, error: known } = this.#failure ?? { since: new Date(this.#localClock.now()), error: cause };
    this.#failure = { address: this.address, since, error: isTelling(cause) ? cause : known };
  }

  #found(): void {
    this.#failure = undefined;
    this.#isAway = false;
  }

  /**
   * Asks for its time, and on a new connection for its version and traits. Callers at the same time share one answer.
   *
   * @throws what ioredis rejects with
   */
  async ask(client: Redis): Promise<void> {
    this.#asking ??= this.#ask(client).finally(() => (this.#asking = undefined));
    await this.#asking;
  }

  async #ask(client: Redis): Promise<void> {
    await Promise.all([this.#askTime(client), this.#isNew ? this.#getToKnow(client) : undefined]);
  }

  async #askTime(client: Redis): Promise<void> {
    const sentAt = this.#localClock.now();
    const [seconds, microseconds] = await client.time();
    this.clock.observe(Number(seconds) * 1000 + Number(microseconds) / 1000, sentAt);
    // The failure may be of another connection than this one, such as that on which ioredis reads the slots.
    this.#found();
  }

  async #getToKnow(client: Redis): Promise<void> {
    const [info, traits] = await Promise.all([client.info('server'), triedTraits(client)]);
    this.#info = new ServerInfo(info);
    if (!traits) return;
    const { shardedPubSub } = this.#traits;
    this.#traits = traits;
    this.#isNew = false;
    if (traits.shardedPubSub !== shardedPubSub) this.#onTraits();
  }
}

/**
 * Finds the traits; `undefined` if it runs no script: then the former traits are assumed until it is asked again.
 *
 * @throws what ioredis rejects with if the connection fails
 */
async function triedTraits(client: Redis): Promise<ServerTraits | undefined> {
  try {
    return await findTraits(client);
  } catch (error) {
    if (isReply(error)) return undefined;
    throw error;
  }
}

/** Longest time that servers that hang delay a boot once another one has answered, in milliseconds. */
const PATIENCE = 1000;

interface RedisNodesOptions {
  readonly ioredis: IoRedis;
  /** Client for commands, before it connects. */
  readonly client: RedisClient;
  /** Address that the client leads to, for messages. */
  readonly address: string;
  readonly clock: Clock;
}

/** The servers that a client leads to: a single one, or the nodes of a cluster, each with its own clock, version and traits. */
export class RedisNodes {
  readonly #ioredis: IoRedis;
  readonly #client: RedisClient;
  readonly #clock: Clock;
  /** The single one; of a cluster, the stand-in for a node that is not known. */
  readonly #anyone: RedisNode;
  readonly #ofCluster = new Map<string, RedisNode>();
  readonly #slots = new Map<string, number>();
  readonly #stepListeners = new Set<() => void>();
  readonly #traitsListeners = new Set<() => void>();
  #stepped = false;

  constructor({ ioredis, client, address, clock }: RedisNodesOptions) {
    this.#ioredis = ioredis;
    this.#client = client;
    this.#clock = clock;
    this.#anyone = this.#newNode(address, undefined);
    if (!client.isCluster) {
      this.#anyone.watch(client as Redis);
      return;
    }
    client.on('+node', (node: Redis) => this.#at(addressOf(node)).watch(node));
    client.on('node error', (error: Error, node: string) => this.#at(node).failed(error));
    // Partitions may be elsewhere now, where the clock is another one.
    client.on('refresh', () => {
      this.#askNew();
      this.#step();
    });
    // The connections to all nodes are made only with the next call; those that are away should be known before.
    client.on('ready', () => void Promise.allSettled(this.#askAll()));
  }

  /** Returns the node that holds a key, as far as this process knows. */
  of(key: string): RedisNode {
    if (!this.#client.isCluster) return this.#anyone;
    const address = this.addressOf(key, this.#client);
    return address === undefined ? this.#reference : this.#at(address);
  }

  /** Returns the node where a client of the cluster looks for a key: host and port; `undefined` if it does not know, or there is no cluster. */
  addressOf(key: string, client: RedisClient): string | undefined {
    return client.isCluster ? (client as Cluster).slots[this.#slotOf(key)]?.[0] : undefined;
  }

  /**
   * Call this before a call about a key, or a sharded channel: it refuses a call for a node that is away, and looks for that node.
   * ioredis would try each such call 16 times, each time at a node that redirects it to the one that is away.
   *
   * @throws an error that says that the connection is lost
   */
  assertReachable(key: string): void {
    if (!this.#client.isCluster || this.#client.status !== 'ready' || !this.of(key).isAway) return;
    (this.#client as Cluster).refreshSlotsCache();
    throw new Error(CONNECTION_CLOSED);
  }

  /** Returns the time of the node that holds a key, in epoch milliseconds with fractions. */
  now(key: string): number {
    return this.of(key).clock.now();
  }

  /** Returns the local time at a time of the node that holds a key; both in epoch milliseconds. */
  toLocal(key: string, time: number): number {
    return this.of(key).clock.toLocal(time);
  }

  /** Calls the listener when a clock has stepped, or keys may be at another node. */
  onStep(listener: () => void): () => void {
    this.#stepListeners.add(listener);
    return () => this.#stepListeners.delete(listener);
  }

  /** Calls the listener when a server turns out to know sharded pub/sub, or not any more. */
  onTraits(listener: () => void): void {
    this.#traitsListeners.add(listener);
  }

  /** The single server, or the masters of the cluster. */
  get masters(): readonly RedisNode[] {
    if (!this.#client.isCluster) return [this.#anyone];
    const addresses = new Set<string>();
    for (const slot of (this.#client as Cluster).slots) if (slot?.[0] !== undefined) addresses.add(slot[0]);
    return [...addresses].map((address) => this.#at(address));
  }

  get unreachable(): readonly UnreachableServer[] {
    return this.masters.flatMap(({ failure }) => failure ?? []);
  }

  /** A connection to a server that answers, if one is known. */
  get answering(): Redis | undefined {
    const addresses = this.masters.filter(({ failure }) => !failure).map(({ address }) => address);
    if (!this.#client.isCluster) return addresses.length > 0 ? (this.#client as Redis) : undefined;
    return (this.#client as Cluster).nodes('master').find((node) => addresses.includes(addressOf(node)));
  }

  /**
   * Asks every master for its time, and those with a new connection for their version and traits. Resolves with the first answer; the
   * others still count when they come.
   *
   * @throws what ioredis rejects with if none answers
   */
  async ask(): Promise<void> {
    await firstOf(this.#askAll());
  }

  /** Does the same, but also waits for masters that answer soon after the first one. */
  async askPatiently(): Promise<void> {
    const answers = this.#askAll();
    await firstOf(answers);
    await within(this.#clock, PATIENCE, Promise.allSettled(answers)).catch((error: unknown) => {
      if (!(error instanceof TimeUp)) throw error;
    });
  }

  #askAll(): Promise<void>[] {
    if (!this.#client.isCluster) return [this.#anyone.ask(this.#client as Redis)];
    const cluster = this.#client as Cluster;
    const connections = new Map(cluster.nodes('all').map((node) => [addressOf(node), node]));
    const { masters } = this;
    // ioredis drops the connection to a node that is away, and makes it again with the next look at the slots.
    if (cluster.status === 'ready' && masters.some(({ address }) => !connections.has(address)))
      cluster.refreshSlotsCache();
    return masters.map(async (node) => {
      const connection = connections.get(node.address);
      if (!connection) throw node.failure?.error ?? new Error(CONNECTION_CLOSED);
      await node.ask(connection);
    });
  }

  /** Asks masters that never answered, or failed last. */
  #askNew(): void {
    for (const connection of (this.#client as Cluster).nodes('master')) {
      const node = this.#at(addressOf(connection));
      if (!node.clock.isMeasured || node.failure) void node.ask(connection).catch(() => {});
    }
  }

  /** A node of the cluster whose clock is known. */
  get #reference(): RedisNode {
    for (const node of this.#ofCluster.values()) if (node.clock.isMeasured) return node;
    return this.#anyone;
  }

  #at(address: string): RedisNode {
    let node = this.#ofCluster.get(address);
    if (!node) this.#ofCluster.set(address, (node = this.#newNode(address, this.#reference)));
    return node;
  }

  #newNode(address: string, like: RedisNode | undefined): RedisNode {
    return new RedisNode({
      address,
      clock: this.#clock,
      like,
      onStep: () => this.#step(),
      onTraits: () => this.#traitsListeners.forEach((listener) => listener()),
    });
  }

  /** Tells the listeners once of all steps of this turn, and not while a reply is being read. */
  #step(): void {
    if (this.#stepped) return;
    this.#stepped = true;
    queueMicrotask(() => {
      this.#stepped = false;
      // The listeners may change meanwhile.
      const listeners = [...this.#stepListeners];
      for (const listener of listeners) listener();
    });
  }

  /** Returns the slot of a key, by the hash tag: there are as many tags as partitions and topics. */
  #slotOf(key: string): number {
    const tag = key.slice(0, key.indexOf('}') + 1);
    let slot = this.#slots.get(tag);
    if (slot === undefined) this.#slots.set(tag, (slot = new this.#ioredis.Command('get', [key]).getSlot()));
    return slot;
  }
}

/** Returns the name that ioredis gives to a node. */
function addressOf({ options }: Redis): string {
  return `${options.host}:${options.port}`;
}

/** @throws what the first promise rejects with if all reject */
async function firstOf(promises: readonly Promise<void>[]): Promise<void> {
  try {
    await Promise.any(promises);
  } catch (error) {
    throw (error as AggregateError).errors[0] ?? new Error(CONNECTION_CLOSED);
  }
}
