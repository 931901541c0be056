import { enumerate } from '../checks/describe.js';
import { counted } from '../log.js';
import { within } from '../time/deadline.js';
import type { Startable } from '../time/startable.interface.js';
import type { TopicProgress } from '../topics/topic-progress.js';
import type { TopicRegistry } from '../topics/topic.registry.js';
import type { ConsumerContext, ConsumerSettings } from './consumer-context.js';
import { ConsumptionLog, TopicLog } from './consumption-log.js';
import { type DeadLetterHook, DeadLetterNotifier } from './dead-letter-notifier.js';
import { HandlerSlots, SlotPool } from './handler-slots.js';
import type { MessageHandler } from './message-handler.interface.js';
import { ProgressWatch, type Watched } from './progress-watch.js';
import { TopicConsumer } from './topic-consumer.js';

/** How long outcomes may take to be confirmed after the last handler has ended, at a shutdown; in milliseconds. */
const SETTLE_TIMEOUT = 2000;

/** How long what hangs may keep a drained process from going on, in milliseconds. */
const STOP_TIMEOUT = 500;

export interface ConsumerRuntimeOptions {
  readonly context: ConsumerContext;
  readonly topics: TopicRegistry;
  readonly settings: ConsumerSettings;
  readonly handlers: readonly MessageHandler[];
  readonly hooks: readonly DeadLetterHook[];
}

/** All consumers of a process: starts them, and drains them in the order in which nothing is lost. */
export class ConsumerRuntime implements Startable, Watched {
  readonly #options: ConsumerRuntimeOptions;
  readonly #pool: SlotPool;
  readonly #watch: ProgressWatch;
  readonly #notifier: DeadLetterNotifier;
  readonly #log: ConsumptionLog;
  #consumers: TopicConsumer[] = [];
  #unwatchBroker: (() => void) | undefined;
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: ConsumerRuntimeOptions) {
    this.#options = options;
    const { context, settings, handlers, hooks } = options;
    this.#pool = new SlotPool(settings.concurrency);
    this.#watch = new ProgressWatch(context, settings.heartbeat, this);
    this.#notifier = new DeadLetterNotifier(context, hooks);
    this.#log = new ConsumptionLog(context.log, context.clock, handlers.flatMap(({ topics }) => topics).length);
  }

  /**
   * Resolves once this process has its share of every topic's partitions.
   *
   * @throws ConfigurationError if a topic has another number of partitions, or another protocol version
   * @throws BrokerUnavailableError if it cannot be reached, or does not let this process listen
   */
  async start(): Promise<void> {
    if (this.#stopping) return;
    this.#starting ??= this.#consume();
    await this.#starting;
  }

  async #consume(): Promise<void> {
    const { context, handlers } = this.#options;
    for (const { name, topics } of handlers) {
      for (const { topic } of topics) this.#log.handles(name, topic);
    }
    const byHandler = await Promise.all(handlers.map(async (handler) => this.#consumersOf(handler)));
    if (this.#stopping) return;
    this.#consumers = byHandler.flat();
    this.#unwatchBroker = context.broker.onAvailable(() => {
      for (const consumer of this.#consumers) consumer.recover();
    });
    this.#watch.start();
    await Promise.all(byHandler.map(startInOrder));
    await this.#watch.assertListening();
    this.#log.started();
  }

  async #consumersOf(handler: MessageHandler): Promise<TopicConsumer[]> {
    const { context, topics, settings } = this.#options;
    const slots = new HandlerSlots(this.#pool, handler.concurrency);
    const parts = { context, handler, slots, notifier: this.#notifier, watch: this.#watch };
    const counts = await Promise.all(handler.topics.map(async ({ topic }) => topics.partitions(topic)));
    return handler.topics.map((handled, priority) => {
      const partitions = counts[priority] as number;
      this.#log.knows(handled.topic, partitions);
      const log = new TopicLog(this.#log, handled.topic);
      return new TopicConsumer({ ...parts, handled, priority, log }, partitions, settings.heartbeat);
    });
  }

  /** How far this process has come, topic by topic. */
  get progress(): TopicProgress[] {
    return this.#consumers.map(({ progress }) => progress);
  }

  retryClaims(): void {
    for (const consumer of this.#consumers) consumer.retryClaims();
  }

  /** What this process consumes, one entry a topic. */
  get consumers(): readonly Pick<TopicConsumer, 'topic' | 'holdings' | 'inFlight'>[] {
    return this.#consumers;
  }

  /** Drains: intake stops, partitions are handed over, handlers finish or are given back, outcomes are confirmed. */
  async stop(): Promise<void> {
    this.#stopping ??= this.#drain();
    await this.#stopping;
  }

  async #drain(): Promise<void> {
    const { context, settings } = this.#options;
    const { clock, log } = context;
    this.#unwatchBroker?.();
    await this.#watch.stop();
    this.#log.stop();
    if (this.#consumers.length === 0) return;
    const begunAt = clock.now();
    log.log(`Drains; handler calls that run: ${this.#pool.used}`);
    // What the last claims bring is handled too, so nothing is idle before they are answered.
    const handled = this.#forAll((consumer) => consumer.leave()).then(async () => this.#pool.idle());
    await this.#atMost(settings.shutdownTimeout, handled);
    if (this.#pool.used > 0) {
      log.warn(this.#describeUnfinished());
      for (const consumer of this.#consumers) consumer.releaseDeliveries();
    }
    await this.#atMost(
      SETTLE_TIMEOUT,
      this.#forAll((consumer) => consumer.settled()),
    );
    this.#tellUnsettled();
    await this.#endHooks(begunAt + settings.shutdownTimeout - clock.now());
    await this.#atMost(
      STOP_TIMEOUT,
      this.#forAll((consumer) => consumer.stop()),
    );
    log.log(`Drained after ${Math.round(clock.now() - begunAt)} ms`);
  }

  #describeUnfinished(): string {
    const { used } = this.#pool;
    const messages = this.#consumers.flatMap(({ unfinished }) => unfinished);
    const which = messages.length === 0 ? '' : `: ${enumerate(messages)}`;
    const back = messages.length === 1 ? 'its message is' : used === 1 ? 'its messages are' : 'their messages are';
    // It is the last one that runs, since it cannot end before this drain has.
    const advice =
      used === 1 ? '. If it awaits app.close(), it waits for itself: call app.close() there without await' : '';
    return (
      `${counted(used, 'handler')} still ${used === 1 ? 'runs' : 'run'} after ` +
      `${this.#options.settings.shutdownTimeout} ms; ${back} given back${which}${advice}`
    );
  }

  #tellUnsettled(): void {
    const unsettled = this.#consumers.reduce((sum, consumer) => sum + consumer.unsettled, 0);
    if (unsettled === 0) return;
    const again = unsettled === 1 ? 'its message' : 'their messages';
    this.#options.context.log.error(
      `${counted(unsettled, 'outcome')} could not be confirmed; ${again} will be delivered again`,
    );
  }

  /** Outcomes are confirmed by now, so no dead letter comes any more. */
  async #endHooks(remaining: number): Promise<void> {
    if (this.#notifier.pending > 0) await this.#atMost(Math.max(0, remaining), this.#notifier.idle());
    const { pending } = this.#notifier;
    this.#notifier.close();
    if (pending === 0) return;
    const { log } = this.#options.context;
    log.warn(`The hooks of ${counted(pending, 'dead letter')} have not ended`);
  }

  /** @param work never rejects */
  async #atMost(milliseconds: number, work: Promise<void>): Promise<void> {
    await within(this.#options.context.clock, milliseconds, work).catch(() => {});
  }

  /** A consumer that fails to stop must not keep the others from it. */
  async #forAll(action: (consumer: TopicConsumer) => Promise<void>): Promise<void> {
    const { log, events } = this.#options.context;
    const results = await Promise.allSettled(this.#consumers.map(action));
    for (const result of results) {
      if (result.status === 'fulfilled') continue;
      log.warn(`While stopping: ${(result.reason as Error).message}`);
      events.emit('errors', { source: 'membership', error: result.reason as unknown });
    }
  }
}

/** One topic of a handler after the other, so that the first one's backlog is known before the second claims anything. */
async function startInOrder(consumers: readonly TopicConsumer[]): Promise<void> {
  for (const consumer of consumers) await consumer.start();
}
