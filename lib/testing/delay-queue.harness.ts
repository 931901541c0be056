import type { InjectionToken } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { shareClass } from '../package-copies.js';
import { type Duration, parseDuration } from '../time/duration.js';
import type { BrokerOperation } from '../store/wrap-broker.js';
import { MAX_REPLICAS } from '../checks/limits.js';
import { assertInteger, assertOptions } from '../checks/validate.js';
import { DEFAULT_CONNECTION, tokensOf } from '../nest/decorators/delay-queue.tokens.js';
import { ConfigurationError, InvalidArgumentError } from '../errors/options.errors.js';
import { type TopicRef, assertName, checkedTopicName } from '../messages/topic.js';
import type { FaultOptions } from './faults.js';
import {
  type HarnessDeadLetter,
  type RecordedMessage,
  type WaitingMessage,
  toDeadLetter,
  toRecorded,
  toWaiting,
} from './harness-messages.js';
import { TestBackend } from './test-backend.js';
import { type HarnessOptions, VirtualTime, toEpoch } from './virtual-time.js';

const NOT_INITIALIZED =
  `The application on this harness is not initialized, so no handler runs and nothing would happen. Before you move time, ` +
  `call 'await module.init()', or 'await app.init()' for one that createNestApplication() made.`;

const NOT_USED =
  `No application is on this harness, so nothing would happen. Import DelayQueueTestingModule, or call override() before ` +
  `compile(), with the name of the connection if it has one; then call init() of the module or the application.`;

/**
 * Part of a `TestingModuleBuilder` of `@nestjs/testing` that the harness needs.
 *
 * @publicApi
 */
export interface OverridableModule {
  overrideProvider(token: InjectionToken): {
    useFactory(options: { factory: (...injected: unknown[]) => unknown; inject: InjectionToken[] }): unknown;
  };
}

/**
 * The world of a test: a clock that stands still until it is moved, and a broker in this process. {@link DelayQueueTestingModule} provides
 * one; {@link override} puts one under an application that imports `DelayQueueModule`. Several applications can share one, as the processes
 * of a fleet share a Redis.
 *
 * @example
 * ```ts
 * const harness = new DelayQueueHarness();
 * const module = await harness.override(Test.createTestingModule({ imports: [AppModule] })).compile();
 * await module.init();
 *
 * await module.get(OrderService).place(order);
 * await harness.advance('30m');
 * expect(order.status).toBe('closed');
 * ```
 *
 * @publicApi
 */
export class DelayQueueHarness {
  static {
    shareClass('DelayQueueHarness', this);
  }

  /** @internal */
  readonly backend: TestBackend;
  readonly #time: VirtualTime;
  /** Name of the harness as a caller of `cancel`. */
  readonly #caller = uuidv7();
  #sequence = 0;

  /** @throws InvalidArgumentError */
  constructor(options?: HarnessOptions);
  /**
   * @param time that of the harness whose clock this one shares
   * @internal
   */
  constructor(options: HarnessOptions, time: VirtualTime);
  constructor(options: HarnessOptions = {}, time: VirtualTime = new VirtualTime(options)) {
    this.#time = time;
    this.backend = new TestBackend(time);
  }

  /** Time of the clock. Every due time is on it. */
  get now(): Date {
    return new Date(this.#time.clock.now());
  }

  /**
   * Creates a harness for another connection of the same application, with its own broker and the clock of this one. Moving one of them
   * moves both.
   */
  withSameClock(): DelayQueueHarness {
    return new DelayQueueHarness({}, this.#time);
  }

  /**
   * Puts this harness in the place of Redis and the clock, wherever the application imports `DelayQueueModule`; with `connection`, of the
   * connection with this name.
   *
   * @param builder result of `Test.createTestingModule()`
   * @param options `connection`: the name of the connection; @defaultValue 'default'. Each connection takes its own harness, see
   * {@link withSameClock}
   * @returns the same builder
   * @throws InvalidArgumentError
   * @see docs/reference/options.md#several-connections
   */
  override<B extends OverridableModule>(builder: B, options: { connection?: string } = {}): B {
    assertOptions('The options of override', options, ['connection']);
    const { connection = DEFAULT_CONNECTION } = options;
    assertName('connection', connection);
    builder.overrideProvider(tokensOf(connection).backend).useFactory({ factory: () => this.backend, inject: [] });
    return builder;
  }

  /**
   * Moves time forward. Everything that falls due on the way happens at its time, in order of due time: deliveries (also of messages that
   * handlers publish), retries, timeouts, ends of leases.
   *
   * The application has to be initialized. Before each step and at the end it waits for handlers, in real time too, up to `patience`.
   *
   * @throws InvalidArgumentError, and ConfigurationError if no application on this harness is initialized
   */
  async advance(duration: Duration): Promise<void> {
    const milliseconds = parseDuration('duration', duration);
    await this.#moveTo(() => this.#time.clock.now() + milliseconds);
  }

  /**
   * Moves time forward to a date (a number is epoch milliseconds), like {@link advance}.
   *
   * @throws InvalidArgumentError if it has passed, and ConfigurationError if no application on this harness is initialized
   */
  async advanceTo(date: Date | number): Promise<void> {
    const time = toEpoch('date', date);
    if (time < this.#time.clock.now()) {
      throw new InvalidArgumentError(
        `Time cannot go back: it is ${this.now.toISOString()}. Given: ${new Date(time).toISOString()}.`,
      );
    }
    await this.#moveTo(() => time);
  }

  /**
   * Waits until everything that is due now has been handled, without moving time.
   *
   * @throws ConfigurationError if no application on this harness is initialized
   */
  async settle(): Promise<void> {
    await this.advance(0);
  }

  /**
   * Returns all messages published to a topic so far, in order, without those that were refused or ignored as duplicates.
   *
   * @throws InvalidArgumentError if it is no valid topic
   */
  published<T>(topic: TopicRef<T>): RecordedMessage<T>[] {
    const name = checkedTopicName(topic);
    const serializer = this.backend.serializerOf(name);
    return this.backend.published.of(name).map((message) => toRecorded<T>(message, serializer));
  }

  /**
   * Returns the messages of a topic that wait now, in order of due time, with the `attempts` spent and the `failure` of the last one;
   * neither those being handled nor dead letters.
   *
   * @throws InvalidArgumentError if it is no valid topic
   */
  scheduled<T>(topic: TopicRef<T>): WaitingMessage<T>[] {
    const name = checkedTopicName(topic);
    const serializer = this.backend.serializerOf(name);
    return this.backend.stored.list(name, 'scheduled').map((placed) => toWaiting<T>(placed, serializer));
  }

  /**
   * Returns the dead letters of a topic, in order of their death, with `diedAt`, `attempts` and `failure`.
   *
   * @throws InvalidArgumentError if it is no valid topic
   */
  deadLetters<T>(topic: TopicRef<T>): HarnessDeadLetter<T>[] {
    const name = checkedTopicName(topic);
    const serializer = this.backend.serializerOf(name);
    return this.backend.stored.list(name, 'dead').map((placed) => toDeadLetter<T>(placed, serializer));
  }

  /**
   * Forgets published messages, and removes every message that waits, is dead, or is kept as finished, for tests that share an application.
   * Running handlers go on.
   */
  async clear(): Promise<void> {
    const { published, stored, embedded } = this.backend;
    published.clear();
    for (const topic of stored.topics) {
      for (const { partition, stored: message } of stored.list(topic, 'scheduled')) {
        await embedded.messages.cancel(
          partition,
          { caller: this.#caller, sequence: ++this.#sequence },
          message.storedId,
        );
      }
      for (const { partition } of stored.list(topic, 'dead'))
        await embedded.deadLetters.trimDead(partition, { maxCount: 0 });
    }
    stored.forgetFinished();
  }

  /**
   * Makes the broker unreachable, as if Redis were gone: its calls reject with `BrokerUnavailableError` until {@link reconnect}. Callers
   * repeat their calls on the clock, so a publish gives up only after {@link advance}.
   */
  disconnect(): void {
    this.backend.outages.begin();
  }

  /** Brings the broker back. Callers that repeat their calls get through within 250 ms of the clock. */
  reconnect(): void {
    this.backend.outages.end();
  }

  /**
   * Sets how many replicas Redis has to confirm publishes, 0 or more; before the first call there are enough for all. A publish
   * whose option `replicas` asks for more is stored, and rejects with `NotReplicatedError` when its `timeout` has passed on the
   * clock.
   *
   * @throws InvalidArgumentError
   */
  setReplicas(count: number): void {
    assertInteger('count', count, { min: 0, max: MAX_REPLICAS });
    this.backend.embedded.driver.replicas = count;
  }

  /**
   * Makes the next call of an operation fail, or the next `times` calls, with `error` if given. With `lostReply` the call takes effect, but
   * the caller does not get the reply.
   *
   * The application repeats such calls on the clock, for the first time after 25 ms. Failures of several `failNext` calls follow one after
   * another.
   *
   * @throws InvalidArgumentError
   */
  failNext(operation: BrokerOperation, options: FaultOptions = {}): void {
    this.backend.faults.plan(operation, options);
  }

  async #moveTo(target: () => number): Promise<void> {
    if (!this.#time.activity.hasBegun) throw new ConfigurationError(this.backend.isUsed ? NOT_INITIALIZED : NOT_USED);
    await this.#time.moveTo(target);
  }
}
