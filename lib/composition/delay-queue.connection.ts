import { hostname } from 'node:os';
import { v7 as uuidv7 } from 'uuid';
import type { AdminDependencies } from '../admin/admin-dependencies.js';
import { DelayQueueAdmin } from '../admin/delay-queue.admin.js';
import { AuditLog } from '../events/audit-log.js';
import type { Broker } from '../store/broker.interface.js';
import type { Role } from '../engines/redis/scripts/rights.js';
import { ConsumerRuntime } from '../consumer/consumer.runtime.js';
import type { DeadLetterHook } from '../consumer/delivery/dead-letter-notifier.js';
import { DelayQueueConsumers } from '../consumer/delay-queue.consumers.js';
import { DelayQueueReceiver } from '../consumer/delay-queue.receiver.js';
import type { Pulling } from '../consumer/pulling/pulling.js';
import { Intakes } from '../consumer/ownership/intakes.js';
import type { MessageHandler } from '../consumer/message-handler.interface.js';
import { DelayQueueEvents } from '../events/delay-queue.events.js';
import { FLEET_KINDS } from '../events/fleet-codec.js';
import { FleetPublisher } from '../events/fleet-publisher.js';
import { FleetReader } from '../events/fleet-reader.js';
import type { Log } from '../log.js';
import { handleWithin } from '../middleware/middleware-layers.js';
import type { FindProvided } from '../outbound/forward/resolve-forward.js';
import { OutboundHandlers } from '../outbound/outbound-handlers.js';
import { DelayQueueHealth } from '../monitoring/delay-queue.health.js';
import type { DelayQueueMetrics } from '../monitoring/delay-queue-metrics.interface.js';
import { countPublishes, HarmlessMetrics, MetricsRecorder } from '../monitoring/metrics-recorder.js';
import { MetricsReader } from '../monitoring/metrics-reader.js';
import { DelayQueueProducer } from '../producer/delay-queue.producer.js';
import type { Outbox } from '../producer/outbox.interface.js';
import { type DeclaredSchedule, DeclaredSchedules } from '../schedules/declared-schedules.js';
import { DelayQueueSchedules } from '../schedules/delay-queue.schedules.js';
import { patienceOf } from '../fleet/progress.js';
import { TopicRegistry } from '../fleet/topic.registry.js';
import { ConfigurationError } from '../errors/options.errors.js';
import { UnhandledTopics } from '../monitoring/unhandled-topics.js';
import type { Backend } from './backend.js';
import type { ResolvedOptions } from './resolve-options.js';
import { SignalWatch } from './sigterm-watch.js';

export interface ConnectionSetup {
  readonly name: string;
  readonly options: ResolvedOptions;
  readonly backend: Backend;
  readonly log: Log;
  /** Role of the connection. @defaultValue consumer or producer, as the options say */
  readonly role?: Role;
}

/** Parts of an application that work on a connection. */
export interface Consumption {
  readonly handlers: readonly MessageHandler[];
  readonly hooks: readonly DeadLetterHook[];
  readonly schedules: readonly DeclaredSchedule[];
  /** Finds the clients that messages are forwarded through. */
  readonly findProvided: FindProvided;
}

interface ConnectionParts extends ConnectionSetup {
  readonly broker: Broker;
  readonly redis: object;
  readonly metrics: DelayQueueMetrics | undefined;
}

/**
 * One connection to a Redis with its parts. This is the composition root: the only place that assembles the parts and knows the order in
 * which they start and stop.
 *
 * Modules of other copies of this package use `name`, `options.given` and `close()`.
 */
export class DelayQueueConnection {
  readonly name: string;
  readonly options: ResolvedOptions;
  readonly backend: Backend;
  readonly log: Log;
  readonly broker: Broker;
  /** ioredis client through which the broker sends its commands. */
  readonly redis: object;
  readonly events: DelayQueueEvents;
  readonly producer: DelayQueueProducer;
  readonly admin: DelayQueueAdmin;
  readonly health: DelayQueueHealth;
  readonly consumers: DelayQueueConsumers;
  readonly receiver: DelayQueueReceiver;
  readonly schedules: DelayQueueSchedules;
  /** Name of this process in the fleet. */
  readonly #session = `${hostname().replaceAll(/\s/g, '')}:${process.pid}:${uuidv7()}`;
  /** Topics as this process knows them. */
  readonly topics: TopicRegistry;
  readonly #unhandled: UnhandledTopics;
  readonly #recorder: MetricsRecorder | undefined;
  readonly #fleetPublisher: FleetPublisher | undefined;
  readonly #signalWatch: SignalWatch;
  /** `undefined` if this process does not consume on this connection. */
  #intakes: Intakes | undefined;
  readonly #declared: DeclaredSchedules;
  #outbound: OutboundHandlers | undefined;
  #runtime: ConsumerRuntime | undefined;
  #outbox: Outbox | undefined;
  #handled: ReadonlySet<string> = new Set();
  #onBooted: (pulling: Pulling | undefined) => void = () => {};

  /** Creates a connection that is not connected yet. */
  static async create(setup: ConnectionSetup): Promise<DelayQueueConnection> {
    const { options, backend, log, role = options.consumer ? 'consumer' : 'producer' } = setup;
    const metrics = options.metrics && new HarmlessMetrics(options.metrics, log);
    return new DelayQueueConnection({
      ...setup,
      metrics,
      ...(await backend.createBroker(options, { log, metrics, role })),
    });
  }

  private constructor({ name, options, backend, log, broker, redis, metrics }: ConnectionParts) {
    const { clock } = backend;
    this.name = name;
    this.options = options;
    this.backend = backend;
    this.log = log;
    this.broker = broker;
    this.redis = redis;

    const events = eventsOf(broker);
    this.events = events;
    this.topics = new TopicRegistry({
      store: broker,
      clock,
      settingsOf: options.topicSettings,
      onChanged: (error) => {
        log.error(error.message);
        events.emit('errors', { source: 'membership', error });
      },
    });
    this.#unhandled = new UnhandledTopics({ store: broker, clock, events, log });
    this.#fleetPublisher = this.#createFleetPublisher();
    const audit = new AuditLog(this.adminDependencies);
    this.producer = new DelayQueueProducer({
      store: broker,
      topics: this.topics,
      clock,
      events,
      publishTimeout: options.publishTimeout,
      replicas: options.replicas,
      middleware: options.middleware.publish,
      audit,
      onFailed: metrics && countPublishes(metrics, events),
      onSent: (topic) => this.#unhandled.published(topic),
      outbox: () => this.#outbox,
    });
    this.admin = new DelayQueueAdmin(this.adminDependencies);
    this.health = new DelayQueueHealth({
      broker,
      clock,
      topics: this.topics,
      unhandled: this.#unhandled,
      configured: options.topics,
      progress: () => this.#runtime?.progress,
      waitingForRoom: () => this.#runtime?.waitingForRoom ?? 0,
      abandoned: () => this.#runtime?.abandoned ?? { count: 0, oldest: [] },
      patience: patienceOf(options.consumer?.heartbeat ?? 0),
    });
    this.#intakes = options.consumer && new Intakes(options.consumer.autoStart);
    this.consumers = new DelayQueueConsumers({
      intakes: () => this.#intakes,
      whileStopping: async (stopping) => backend.whileStopping(stopping),
    });
    this.receiver = new DelayQueueReceiver({
      booted: new Promise((resolve) => (this.#onBooted = resolve)),
      clock,
      lease: options.consumer?.lease,
      timeout: options.publishTimeout,
    });
    this.schedules = new DelayQueueSchedules({
      store: broker,
      topics: this.topics,
      clock,
      events,
      timeout: options.publishTimeout,
      audit,
      handled: () => this.#handled,
    });
    this.#declared = new DeclaredSchedules({ schedules: this.schedules, clock, log, events });
    this.#recorder = metrics && this.#createRecorder(metrics);
    this.#signalWatch = new SignalWatch(clock, log, events);
  }

  get adminDependencies(): AdminDependencies {
    const { broker, backend, options, log, events } = this;
    return {
      broker,
      clock: backend.clock,
      log,
      events,
      process: this.#session,
      timeout: options.publishTimeout,
      serializerOf: (topic) => options.topicSettings(topic).serializer,
      reportOwn: async () => this.#runtime?.report(),
    };
  }

  /**
   * Has the producer keep what is part of a transaction until the commit.
   *
   * @throws ConfigurationError if it has an outbox already
   */
  useOutbox(outbox: Outbox): void {
    if (this.#outbox) {
      throw new ConfigurationError(
        `DelayQueueOutboxModule is imported more than once for connection '${this.name}'. Import it once, in the root module.`,
      );
    }
    this.#outbox = outbox;
  }

  /**
   * Connects, and fixes the partitions of the topics that have settings of their own.
   *
   * @throws BrokerUnavailableError with host and port if Redis cannot be reached; a topic whose part of a Cluster does not answer is left
   * for later
   * @throws ConfigurationError if Redis is too old, a topic has another number of partitions, or the metrics cannot work
   *   with this connection
   */
  async connect(): Promise<void> {
    this.#recorder?.start();
    await this.#outbox?.open();
    await this.broker.connect();
    for (const { topic, error } of await this.topics.load(this.options.topics)) {
      this.log.warn(`Topic '${topic}' cannot be reached yet: ${error.message}`);
    }
  }

  /**
   * Begins to handle messages, if this process consumes; resolves once it has its share of the partitions of every topic whose intake is to
   * run, and the schedules that its handlers declare are stored.
   *
   * @param consumption parts of the application that take part; topics that are pushed or forwarded do by their options
   * @throws ConfigurationError, BrokerUnavailableError
   */
  async consume({ handlers: methods, hooks, schedules, findProvided }: Consumption): Promise<void> {
    const { broker, backend, log, events, options } = this;
    const { consumer } = options;
    if (!consumer || !this.#intakes) return;
    this.#outbound = new OutboundHandlers({ ...options, consumer, methods, findProvided });
    const handlers = [...methods, ...this.#outbound.handlers];
    this.#handled = new Set(handlers.flatMap(({ topics }) => topics.map(({ topic }) => topic)));
    for (const { name, topic } of hooks) {
      if (this.#handled.has(topic)) continue;
      log.warn(`${name} will never be called: nothing in this process handles topic '${topic}'`);
    }
    const { middleware } = options;
    const inbox = handlers.filter((handler) => handler.inbox);
    await this.#outboxFor(inbox)?.announce(inbox.flatMap(({ topics }) => topics.map(({ topic }) => topic)));
    const within = (handler: MessageHandler): MessageHandler => {
      const layered = handleWithin(middleware.handle, handler);
      return handler.inbox && this.#outbox ? this.#outbox.handleOnce(layered) : layered;
    };
    this.#runtime = new ConsumerRuntime({
      context: { broker, clock: backend.clock, log, events, session: this.#session, settleLayers: middleware.settle },
      topics: this.topics,
      settings: consumer,
      handlers: handlers.map((handler) => backend.watch(within(handler))),
      intakes: this.#intakes,
      hooks,
      timeout: options.publishTimeout,
      reports: { fleetEvents: options.fleetEvents !== undefined, history: options.history },
      onDataLost: () => this.#declared.restore(),
    });
    // In this order: occurrences are caught up by the schedules that this version declares.
    await this.#declared.start(schedules);
    await this.#runtime.start();
    if (!backend.expectsSignals || handlers.length === 0) return;
    const leases = handlers.flatMap(({ topics }) => topics.map(({ settings }) => settings.lease));
    this.#signalWatch.start({ lease: Math.max(...leases), heartbeat: consumer.heartbeat });
  }

  /**
   * Call this once the application has bootstrapped: from then on it is known which topics this process handles.
   *
   * @param whyNotHandled returns a sentence why the application's handler for a topic does not count; `undefined` if it has none
   */
  booted(whyNotHandled: (topic: string) => string | undefined): void {
    // Another module of this connection consumes.
    if (!this.#runtime) this.#intakes = undefined;
    this.#onBooted(this.#runtime?.pulling);
    this.#unhandled.start({ topics: this.#handled, hint: whyNotHandled });
    this.#outbox?.start();
    this.backend.booted();
  }

  /** Lets running handlers finish. Publishing and administration still work. Can be called twice, and before {@link connect}. */
  async stop(): Promise<void> {
    this.#signalWatch.stop();
    // A check under way changes nothing, so nothing waits for it.
    void this.#unhandled.stop();
    void this.#declared.stop();
    if (this.#runtime) await this.backend.whileStopping(this.#runtime.stop());
    // Handlers may have published until now.
    await this.#outbox?.stop();
  }

  /** Stops, and disconnects last. */
  async close(): Promise<void> {
    await this.stop();
    if (this.#runtime) await this.backend.whileStopping(this.#runtime.close());
    this.#outbound?.close();
    this.#recorder?.stop();
    await this.#fleetPublisher?.stop();
    await this.broker.close();
  }

  /** @throws ConfigurationError if one of the handlers needs an outbox, and there is none */
  #outboxFor([first]: readonly MessageHandler[]): Outbox | undefined {
    if (!first || this.#outbox) return first && this.#outbox;
    throw new ConfigurationError(
      `${first.name} has the option inbox, which needs a database: import DelayQueueOutboxModule of nestjs-delay-queue/outbox, for this ` +
        `connection. See docs/guides/transactions.md.`,
    );
  }

  #createFleetPublisher(): FleetPublisher | undefined {
    const { broker, backend, log, events, options } = this;
    if (!options.fleetEvents) return undefined;
    const publisher = new FleetPublisher({
      log,
      clock: backend.clock,
      events,
      eventLog: broker.eventLog,
      now: () => broker.now(),
      process: this.#session,
      maxLength: options.fleetEvents.maxLength,
    });
    for (const kind of FLEET_KINDS) events.tap(kind, (event) => publisher.add(kind, event));
    return publisher;
  }

  #createRecorder(metrics: DelayQueueMetrics): MetricsRecorder {
    const { name, broker, backend, log, events } = this;
    const reader = new MetricsReader({
      store: broker,
      clock: backend.clock,
      log,
      topics: () => this.topics.known,
      consumed: () => this.#runtime?.progress.topics ?? [],
    });
    return new MetricsRecorder({ metrics, connection: name, events, reader });
  }
}

function eventsOf(broker: Broker): DelayQueueEvents {
  const reader = new FleetReader(broker.eventLog, (error) => events.emit('errors', { source: 'fleet', error }));
  const events = new DelayQueueEvents((next) => reader.follow(next));
  broker.onError((error) => events.emit('errors', { source: 'connection', error }));
  return events;
}
