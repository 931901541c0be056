import type { Redis } from 'ioredis';
import type { Clock } from '../../../time/clock.js';
import type { UnreachableServer } from '../../../store/broker.interface.js';
import { ServerClock } from '../../../store/server-clock.js';
import { ServerInfo } from './server-info.js';
import { isTelling, rootOf, withoutSecrets } from './redis-errors.js';
import { isReply } from '../../../store/reply-errors.js';
import { FEWEST_TRAITS, type ServerTraits, findTraits } from './server-traits.js';

export interface RedisNodeOptions {
  /** Host and port. */
  readonly address: string;
  readonly clock: Clock;
  /** Called when the estimate of its clock has stepped. */
  readonly onStep: () => void;
  /** Called when it knows another kind of pub/sub than it was taken to know. */
  readonly onTraits: () => void;
  /** A node that is known already; this one is taken for its like until it answers. */
  readonly like: RedisNode | undefined;
}

/** What this process knows of one server: its clock, its version, what it can do, and whether it can be reached. */
export class RedisNode {
  readonly address: string;
  /** The server's clock. */
  readonly clock: ServerClock;
  readonly #localClock: Clock;
  readonly #onTraits: () => void;
  #info: ServerInfo | undefined;
  #traits: ServerTraits;
  /** Another server may be behind the address each time there is a new connection. */
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

  /** What it tells of itself in the section `server`; `undefined` until a server has answered. */
  get info(): ServerInfo | undefined {
    return this.#info;
  }

  /** What it can do, as far as that is known. */
  get traits(): ServerTraits {
    return this.#traits;
  }

  /** `undefined` if it can be reached, or nobody has tried. */
  get failure(): UnreachableServer | undefined {
    return this.#failure;
  }

  /** Whether no connection to it could be made when that was tried last; one that was lost may be made again at once. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /** To be called with each connection to it. */
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
   * Asks for its time, and on a new connection for its version and what it can do. Callers at the same time share one answer.
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
    // What failed may have been another connection than this one, such as that on which ioredis reads the slots.
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
 * `undefined` if it runs no script: then it is taken for what it was until it is asked again.
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
