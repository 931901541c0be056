import type { Startable } from '../time/startable.interface.js';
import { enumerate } from '../checks/describe.js';
import { sleep } from '../time/retry.js';
import type { TopicRegistry } from '../topics/topic.registry.js';
import type { ConsumerContext } from './consumer-context.js';
import type { ConsumerSettings } from './consumer-settings.interface.js';
import type { DeadLetterHook } from './dead-letter-hook.interface.js';
import { DeadLetterNotifier } from './dead-letter-notifier.js';
import type { MessageHandler } from './message-handler.interface.js';
import { ProgressWatch } from './progress-watch.js';
import type { TopicProgress } from '../topics/progress.js';
import { TopicConsumer } from './topic-consumer.js';
import { ConsumptionLog } from './topic-log.js';
import { WorkerGroup } from './worker-group.js';
import { WorkerPool } from './worker-pool.js';

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
export class ConsumerRuntime implements Startable {
  readonly #options: ConsumerRuntimeOptions;
  readonly #pool: WorkerPool;
  readonly #watch: ProgressWatch;
  readonly #notifier: DeadLetterNotifier;
  readonly #log: ConsumptionLog;
  #consumers: TopicConsumer[] = [];
  #stopWatching: (() => void) | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: ConsumerRuntimeOptions) {
    this.#options = options;
    this.#pool = new WorkerPool(options.settings.concurrency);
    this.#watch = new ProgressWatch({
      context: options.context,
      heartbeat: options.settings.heartbeat,
      progress: () => this.progress,
      retryClaims: () => {
        for (const consumer of this.#consumers) consumer.retryClaims();
      },
    });
    this.#notifier = new DeadLetterNotifier(options.context, options.hooks);
    const { context, handlers } = options;
    this.#log = new ConsumptionLog(context.log, context.clock, handlers.flatMap(({ topics }) => topics).length);
  }

  /**
   * Resolves once this process has its share of every topic's partitions.
   *
   * @throws ConfigurationError where a topic has another number of partitions, or another protocol version
   * @throws BrokerUnavailableError if it cannot be reached, or does not let this process listen
   */
  async start(): Promise<void> {
    if (this.#consumers.length > 0 || this.#stopping) return;
    const { context, topics, settings, handlers } = this.#options;
    for (const { name, topics: handled } of handlers) {
      for (const { topic } of handled) this.#log.handles(name, topic);
    }
    const consumers = handlers.map(async (handler) => {
      const group = new WorkerGroup(handler.concurrency);
      return Promise.all(
        handler.topics.map(
          async (handled, priority) =>
            new TopicConsumer({
              context,
              handler,
              handled,
              partitions: await topics.partitions(handled.topic),
              pool: this.#pool,
              group,
              notifier: this.#notifier,
              log: this.#log,
              priority,
              heartbeat: settings.heartbeat,
              onSignalLost: () => void this.#watch.signalLost(),
            }),
        ),
      );
    });
    const byHandler = await Promise.all(consumers);
    this.#consumers = byHandler.flat();
    this.#stopWatching = context.broker.onAvailable(() => {
      for (const consumer of this.#consumers) consumer.recover();
    });
    this.#watch.start();
    await Promise.all(byHandler.map(startInOrder));
    await this.#watch.assertListening();
    this.#log.started();
  }

  /** How far this process has come, topic by topic. */
  get progress(): TopicProgress[] {
    return this.#consumers.map(({ progress }) => progress);
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
    this.#stopWatching?.();
    this.#watch.stop();
    this.#log.stop();
    if (this.#consumers.length === 0) return;
    const begunAt = clock.now();
    log.log(`Drains; handler calls that run: ${this.#pool.used}`);
    const timeUp = new AbortController();
    const timer = clock.setTimer(settings.shutdownTimeout, () => timeUp.abort());
    const leaving = this.#forAll((consumer) => consumer.leave());
    // What the last claims bring is handled too, so nothing is idle before they are answered.
    await Promise.race([leaving.then(async () => this.#pool.idle()), aborted(timeUp.signal)]);
    timer.cancel();
    if (this.#pool.used > 0) {
      log.warn(this.#describeUnfinished());
      for (const consumer of this.#consumers) consumer.releaseDeliveries();
    }
    await this.#atMost(
      SETTLE_TIMEOUT,
      this.#forAll((consumer) => consumer.settled()),
    );
    const unsettled = this.#consumers.reduce((sum, consumer) => sum + consumer.unsettled, 0);
    if (unsettled > 0)
      log.error(`${unsettled} outcomes could not be confirmed; these messages will be delivered again`);
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
    // It is the last one that runs, since it cannot end before this drain has.
    const advice =
      used === 1 ? '. If it awaits app.close(), it waits for itself: call app.close() there without await' : '';
    return (
      `${used} handlers still run after ${this.#options.settings.shutdownTimeout} ms; their messages are given back` +
      `${which}${advice}`
    );
  }

  /** Outcomes are confirmed by now, so no dead letter comes any more. */
  async #endHooks(remaining: number): Promise<void> {
    if (this.#notifier.pending > 0) await this.#atMost(Math.max(0, remaining), this.#notifier.idle());
    const { pending } = this.#notifier;
    this.#notifier.close();
    if (pending > 0) this.#options.context.log.warn(`The hooks of ${pending} dead letters have not ended`);
  }

  async #atMost(milliseconds: number, work: Promise<void>): Promise<void> {
    const done = new AbortController();
    await Promise.race([work, sleep(this.#options.context.clock, milliseconds, done.signal)]);
    done.abort();
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

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
