import { repeatUntilServed } from '../store/calls/serve.js';
import { type ProcessLook, ProcessReporter, type ReportSettings } from '../fleet/process-reporter.js';
import { counted } from '../log.js';
import { within } from '../time/deadline.js';
import type { Startable } from '../time/startable.interface.js';
import type { AbandonedRuns } from '../fleet/abandoned-run.interface.js';
import type { Progress } from '../fleet/progress.js';
import type { TopicRegistry } from '../fleet/topic.registry.js';
import { AbandonedCalls } from './delivery/abandoned-calls.js';
import { Admission } from './admission/admission.js';
import type { ConsumerContext, ConsumerSettings } from './consumer-context.js';
import { ConsumptionLog, TopicLog } from './consumption-log.js';
import { type DeadLetterHook, DeadLetterNotifier } from './delivery/dead-letter-notifier.js';
import { HandlerCalls } from './delivery/handler-calls.js';
import type { Destination } from './delivery/topic-handling.js';
import { finishHandlers } from './ownership/finish-handlers.js';
import { HandlerSlots, SlotPool } from './admission/handler-slots.js';
import { type Intakes, named } from './ownership/intakes.js';
import { LeaseEnds } from './delivery/lease-ends.js';
import type { HandledTopic, MessageHandler } from './message-handler.interface.js';
import { OwnTerms } from './ownership/own-terms.js';
import { PartitionSharing } from './ownership/partition-sharing.js';
import { Pulling } from './pulling/pulling.js';
import type { PulledTopic } from './pulling/pulled-topic.js';
import { DeadConnectionWatch, type Watched } from './upkeep/dead-connection-watch.js';
import { SuspectQuota } from './admission/suspect-quota.js';
import { TopicConsumer } from './ownership/topic-consumer.js';

/** Longest time that hanging work can delay the end of a process, in milliseconds. */
const STOP_TIMEOUT = 500;

export interface ConsumerRuntimeOptions {
  readonly context: ConsumerContext;
  readonly topics: TopicRegistry;
  readonly settings: ConsumerSettings;
  readonly handlers: readonly MessageHandler[];
  readonly intakes: Intakes;
  readonly hooks: readonly DeadLetterHook[];
  /** Time limit for Redis to answer a receiver's call, in milliseconds. */
  readonly timeout: number;
  readonly reports?: ReportSettings;
  /** Called when Redis has lost data. */
  readonly onDataLost: () => void;
}

/** Starts all consumers of a process, and stops them in an order that loses nothing. */
export class ConsumerRuntime implements Startable, Watched {
  readonly pulling: Pulling;
  readonly #options: ConsumerRuntimeOptions;
  readonly #pool: SlotPool;
  readonly #sharing: PartitionSharing;
  readonly #reporter: ProcessReporter;
  readonly #watch: DeadConnectionWatch;
  readonly #notifier: DeadLetterNotifier;
  readonly #abandoned: AbandonedCalls;
  readonly #leaseEnds: LeaseEnds;
  readonly #suspects = new SuspectQuota();
  readonly #log: ConsumptionLog;
  readonly #terms: OwnTerms;
  readonly #stop = new AbortController();
  #unwatchBroker: (() => void) | undefined;
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;

  /** @throws ConfigurationError if a call was to start or stop the intake of a topic without a handler */
  constructor(options: ConsumerRuntimeOptions) {
    this.#options = options;
    const { context, settings, handlers, hooks, intakes, reports, onDataLost, topics: registry } = options;
    const topics = handlers.flatMap((handler) => topicsOf(handler));
    this.#pool = new SlotPool(settings.concurrency);
    const { broker, clock, events, session } = context;
    this.#reporter = new ProcessReporter({ broker, clock, events, session, look: () => this.#look(), ...reports });
    const { heartbeat } = settings;
    // The intakes decide which topics the session takes part in.
    const leaseChanged = (token: string, lease: number): void => this.pulling.known.lasts(token, lease);
    const reporter = this.#reporter;
    this.#sharing = new PartitionSharing({ context, registry, heartbeat, onDataLost, reporter, leaseChanged });
    intakes.begin({ context, topics, sharing: this.#sharing, timeout: settings.shutdownTimeout });
    this.#watch = new DeadConnectionWatch(context, settings.heartbeat, this);
    this.#notifier = new DeadLetterNotifier(context, hooks);
    this.#abandoned = new AbandonedCalls(context);
    this.#leaseEnds = new LeaseEnds(context.clock);
    this.#terms = new OwnTerms({ context, topics: registry, signal: this.#stop.signal });
    this.#log = new ConsumptionLog(context.log, context.clock, topics.length);
    this.pulling = new Pulling({
      ...options,
      sharing: this.#sharing,
      handled: topics,
      lease: settings.lease,
      consume: (pulled) => this.#pull(pulled),
      say: async (topic) => this.#terms.sayWhatIsTold(topic),
      onNewReceiver: () => void this.#reporter.report(),
    });
  }

  /**
   * Resolves once this process has its share of the partitions; it takes a partition that is unreachable now later.
   *
   * @throws ConfigurationError if a topic has another number of partitions, or another protocol version
   * @throws BrokerUnavailableError if the broker denies this process a right that it needs
   */
  async start(): Promise<void> {
    if (this.#stopping) return;
    this.#starting ??= this.#consume();
    await this.#starting;
  }

  async #consume(): Promise<void> {
    const { context, handlers, intakes } = this.#options;
    for (const handler of handlers) {
      for (const topic of topicsOf(handler)) this.#log.handles(handler.name, topic);
    }
    await this.#addConsumers();
    if (this.#stopping) return;
    this.#unwatchBroker = context.broker.onAvailable(() => this.#recover());
    this.#watch.start();
    // A handler's topics start one after the other, so that the backlog of the first is known before the second claims anything.
    if (handlers.length > 0) await this.#sharing.start(handlers.map(topicsOf));
    await this.#watch.assertListening();
    this.#log.started();
    const { stopped } = intakes;
    if (stopped.length > 0) context.log.log(`The intake of ${named(stopped)} waits for DelayQueueConsumers.start()`);
  }

  async #addConsumers(): Promise<void> {
    const { topics, handlers, context } = this.#options;
    const unreachable = await topics.load(handlers.flatMap(topicsOf));
    const isReachable = ({ topic }: HandledTopic): boolean => !unreachable.some((one) => one.topic === topic);
    const reachable = handlers.flatMap((handler) => handler.topics.filter(isReachable));
    await Promise.all(reachable.map(async (one) => this.#terms.say(one)));
    for (const handler of handlers) {
      const slots = new HandlerSlots(this.#pool, handler.concurrency);
      for (const [priority, handled] of handler.topics.entries()) {
        const destination = new HandlerCalls(context, handler);
        const place = { handler, handled, priority, slots, suspects: this.#suspects, destination };
        const late = unreachable.find(({ topic }) => topic === handled.topic);
        if (!late) this.#addConsumer(place);
        else {
          context.log.warn(`Topic '${late.topic}' is consumed once it can be reached: ${late.error.message}`);
          void this.#addLate(place);
        }
      }
    }
  }

  #addConsumer(place: TopicPlace): void {
    const { context, topics } = this.#options;
    const { topic } = place.handled;
    const partitions = topics.knownPartitions(topic) as number;
    this.#log.knows(topic, partitions);
    const log = new TopicLog(this.#log, topic);
    const { session } = this.#sharing;
    const work = this.#reporter.meter(topic);
    const shared = {
      notifier: this.#notifier,
      abandoned: this.#abandoned,
      leaseEnds: this.#leaseEnds,
      onDataLost: this.#options.onDataLost,
    };
    const { handler, handled, destination, ...handlerPlace } = place;
    const admission = new Admission({
      ...handlerPlace,
      context,
      topic,
      partitions,
      batch: handler.batch ?? 1,
      lease: handled.settings.lease,
      patience: this.#options.settings.heartbeat,
      limits: topics.terms(topic).limits,
      onStarving: () => log.starves(),
    });
    const handling = { handler, handled, destination, admission, ...shared, context, topics, session, log, work };
    this.#sharing.add(new TopicConsumer(handling, partitions));
  }

  /** Never rejects. */
  async #addLate(place: TopicPlace): Promise<void> {
    const { context, topics } = this.#options;
    const { topic } = place.handled;
    try {
      await repeatUntilServed(() => topics.partitions(topic), { clock: context.clock, signal: this.#stop.signal });
      await this.#terms.say(place.handled);
      if (!this.#stopping) this.#addConsumer(place);
    } catch (error) {
      if (this.#stopping) return;
      context.log.error(`Topic '${topic}' cannot be consumed: ${(error as Error).message}`);
      context.events.emit('errors', { source: 'membership', topic, error });
    }
  }

  /** @throws BrokerUnavailableError */
  async #pull(pulled: PulledTopic): Promise<void> {
    const { topic, slots, suspects, receivers: destination } = pulled;
    await this.start();
    await this.#options.topics.partitions(topic);
    this.#log.handles(PULLER.name, topic);
    this.#addConsumer({ handler: PULLER, handled: pulled, priority: 0, slots, suspects, destination });
    // Received messages can still be settled while this process shuts down.
    if (!this.#stopping) await this.#sharing.start();
  }

  /** Progress of this process. */
  get progress(): Progress {
    const { renewedAt, unansweredSince, failedAt } = this.#sharing.session;
    return { renewedAt, unansweredSince, failedAt, topics: this.#consumers.map(({ progress }) => progress) };
  }

  /** Outcomes that wait until Redis has room. */
  get waitingForRoom(): number {
    return this.#consumers.reduce((sum, { waitingForRoom }) => sum + waitingForRoom, 0);
  }

  /** Reports changes in this process to observers of the fleet, without waiting for the next heartbeat. */
  async report(): Promise<void> {
    await this.#reporter.report();
  }

  retryClaims(): void {
    for (const consumer of this.#consumers) consumer.retryClaims();
  }

  /** Runs when the broker is reachable again: signals may have been lost. */
  #recover(): void {
    this.#sharing.session.refresh();
    for (const consumer of this.#consumers) consumer.recover();
  }

  #look(): ProcessLook {
    const topics = this.#consumers.map(({ progress }) => progress);
    return {
      concurrency: this.#pool.limit,
      busy: this.#pool.used,
      waiting: topics.reduce((sum, { owned }) => sum + owned.filter(({ saturated }) => saturated).length, 0),
      starved: topics.filter(({ starvedSince }) => starvedSince !== undefined).map(({ topic }) => topic),
      receivers: this.pulling.known.told,
      holdings: Object.fromEntries(
        topics.map(({ topic, owned }) => [topic, owned.map(({ partition }) => partition).toSorted((a, b) => a - b)]),
      ),
    };
  }

  get #consumers(): TopicConsumer[] {
    return this.#sharing.consumers;
  }

  /** Handler calls of this process that still run although their time is up. */
  get abandoned(): AbandonedRuns {
    return this.#abandoned.report;
  }

  /** Stops the intake, hands the partitions over, lets handlers finish or gives their messages back, and confirms outcomes. */
  async stop(): Promise<void> {
    if (!this.#stopping) {
      this.pulling.stop();
      this.#stopping = this.#shutDown();
      this.#options.intakes.close(this.#stopping);
    }
    await this.#stopping;
  }

  async #shutDown(): Promise<void> {
    const { context, settings } = this.#options;
    const { clock, log } = context;
    this.#stop.abort();
    this.#unwatchBroker?.();
    await this.#watch.stop();
    await this.#abandoned.close();
    this.#log.stop();
    if (this.#options.handlers.length + this.#consumers.length === 0) return;
    const begunAt = clock.now();
    log.log(`Shuts down; handler calls that run: ${this.#pool.used}`);
    await finishHandlers(this.#consumers, {
      context,
      timeout: settings.shutdownTimeout,
      handedOver: this.#leave(),
      call: 'app.close()',
    });
    this.#tellUnsettled();
    await this.#endHooks(begunAt + settings.shutdownTimeout - clock.now());
    const handled = this.#consumers.filter(({ topic }) => !this.pulling.has(topic));
    await this.#atMost(STOP_TIMEOUT, Promise.all([this.#stopAll(handled), this.#reporter.report()]));
    this.#leaseEnds.close();
    log.log(`Shut down after ${Math.round(clock.now() - begunAt)} ms`);
  }

  /** Ends what goes on after {@link stop}: received messages can be settled until now. */
  async close(): Promise<void> {
    this.pulling.close();
    const pulled = this.#consumers.filter(({ topic }) => this.pulling.has(topic));
    await this.#atMost(STOP_TIMEOUT, Promise.all(pulled.map((consumer) => consumer.settled())));
    await this.#atMost(STOP_TIMEOUT, this.#stopAll(pulled));
  }

  /** Hands the partitions over; one that cannot be goes to another process when the session ends. */
  async #leave(): Promise<void> {
    const { log, events } = this.#options.context;
    try {
      await this.#sharing.leave();
    } catch (error) {
      log.warn(`While leaving: ${(error as Error).message}`);
      events.emit('errors', { source: 'membership', error });
    }
  }

  #tellUnsettled(): void {
    const unsettled = this.#consumers.reduce((sum, consumer) => sum + consumer.unsettled, 0);
    if (unsettled === 0) return;
    const again = unsettled === 1 ? 'its message' : 'their messages';
    this.#options.context.log.error(
      `${counted(unsettled, 'outcome')} could not be confirmed; ${again} will be delivered again`,
    );
  }

  /** Outcomes are confirmed by now, so no more dead letters come. */
  async #endHooks(remaining: number): Promise<void> {
    if (this.#notifier.pending > 0) await this.#atMost(Math.max(0, remaining), this.#notifier.idle());
    const { pending } = this.#notifier;
    this.#notifier.close();
    if (pending === 0) return;
    const { log } = this.#options.context;
    log.warn(`The hooks of ${counted(pending, 'dead letter')} have not ended`);
  }

  /** @param work never rejects */
  async #atMost(milliseconds: number, work: Promise<unknown>): Promise<void> {
    await within(this.#options.context.clock, milliseconds, work).catch(() => {});
  }

  /** A consumer that fails to stop must not prevent the others from stopping. */
  async #stopAll(consumers: readonly TopicConsumer[]): Promise<void> {
    const { log, events } = this.#options.context;
    const results = await Promise.allSettled(consumers.map(async (consumer) => consumer.stop()));
    for (const result of results) {
      if (result.status === 'fulfilled') continue;
      log.warn(`While stopping: ${(result.reason as Error).message}`);
      events.emit('errors', { source: 'membership', error: result.reason as unknown });
    }
  }
}

/** A topic as one handler handles it. */
interface TopicPlace {
  readonly handler: Pick<MessageHandler, 'name' | 'batch'>;
  readonly handled: HandledTopic;
  readonly priority: number;
  readonly slots: HandlerSlots;
  readonly suspects: SuspectQuota;
  readonly destination: Destination;
}

/** Handler of received messages in logs and errors. */
const PULLER = { name: 'DelayQueueReceiver', batch: undefined };

function topicsOf(handler: MessageHandler): string[] {
  return handler.topics.map(({ topic }) => topic);
}
