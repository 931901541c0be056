import { didYouMean } from '../../checks/nearest.js';
import { enumerate } from '../../checks/describe.js';
import { asConfiguration } from '../../checks/validate.js';
import { IntakeOvertakenError } from '../../errors/operation.errors.js';
import { InvalidArgumentError } from '../../errors/options.errors.js';
import { counted } from '../../log.js';
import type { ConsumerContext } from '../consumer-context.js';
import { finishHandlers } from './finish-handlers.js';
import type { PartitionSharing } from './partition-sharing.js';

/** Request to an intake. */
export type IntakeAction = 'start' | 'stop';

/** Context that is known once the process's handlers are. */
export interface IntakesSetup {
  readonly context: ConsumerContext;
  /** Topics that have a handler here. */
  readonly topics: readonly string[];
  readonly sharing: PartitionSharing;
  /** Time limit for handlers once the intake of their topic is stopped, in milliseconds. */
  readonly timeout: number;
}

/** Request for one topic, or for all of them. */
interface Wish {
  readonly action: IntakeAction;
  readonly topic: string | undefined;
}

/**
 * Tracks the topics from which this process takes work. The topics of its session show that to the fleet: a process that does not handle a
 * topic owns none of its partitions. Requests from before the handlers are known are noted, and hold from the start.
 */
export class Intakes {
  readonly #isOpenAtFirst: boolean;
  readonly #noted: Wish[] = [];
  readonly #intakes = new Map<string, TopicIntake>();
  #setup: IntakesSetup | undefined;
  /** Resolves once the handlers have ended for a shutdown; `undefined` before. */
  #handlersEnd: Promise<void> | undefined;

  /** @param autoStart whether the intake starts by itself */
  constructor(autoStart: boolean) {
    this.#isOpenAtFirst = autoStart;
  }

  /** Topics whose intake runs, or will run once the process has booted. */
  get running(): string[] {
    return [...this.#intakes.values()].flatMap(({ isOpen, topic }) => (isOpen ? [topic] : []));
  }

  /** Topics that have a handler here and whose intake does not run. */
  get stopped(): string[] {
    return [...this.#intakes.values()].flatMap(({ isOpen, topic }) => (isOpen ? [] : [topic]));
  }

  /**
   * Begins, now that the handlers are known.
   *
   * @throws ConfigurationError if a noted request names a topic without a handler
   */
  begin(setup: IntakesSetup): void {
    this.#setup = setup;
    const open = new Set(this.#isOpenAtFirst ? setup.topics : []);
    asConfiguration('DelayQueueConsumers', () => {
      for (const { action, topic } of this.#noted) {
        if (topic !== undefined) this.#assertHandled(action, topic);
        for (const one of topic === undefined ? setup.topics : [topic]) {
          if (action === 'start') open.add(one);
          else open.delete(one);
        }
      }
    });
    for (const topic of setup.topics) this.#intakes.set(topic, new TopicIntake(topic, open.has(topic)));
    void setup.sharing.begin(this.running);
  }

  /**
   * Starts or stops the intake of a topic, or of all. Rejects with an {@link IntakeOvertakenError} if another call overtakes it,
   * or the shutdown.
   *
   * @throws InvalidArgumentError if the topic has no handler here
   */
  change(action: IntakeAction, topic: string | undefined): Promise<void> {
    if (!this.#setup) {
      this.#noted.push({ action, topic });
      return Promise.resolve();
    }
    if (topic !== undefined) this.#assertHandled(action, topic);
    const chosen = [...this.#intakes.values()].filter((intake) => topic === undefined || intake.topic === topic);
    if (this.#handlersEnd) return this.#afterShutdown(action, chosen);
    const others = chosen.filter((intake) => !intake.is(action));
    if (others.length > 0) this.#turn(this.#setup, action, others);
    return latestOf(chosen);
  }

  /**
   * Closes all intakes for the shutdown.
   *
   * @param handlersEnd resolves once nothing runs any more; never rejects
   */
  close(handlersEnd: Promise<void>): void {
    this.#handlersEnd = handlersEnd;
    for (const intake of this.#intakes.values()) intake.close();
  }

  #turn(setup: IntakesSetup, action: IntakeAction, intakes: readonly TopicIntake[]): void {
    const { context, sharing } = setup;
    const topics = intakes.map(({ topic }) => topic);
    const isStart = action === 'start';
    context.log.log(`${isStart ? 'Starts' : 'Stops'} the intake of ${named(topics)}`);
    const told = isStart ? sharing.begin(topics) : sharing.end(topics);
    for (const intake of intakes) {
      intake.want(action, async (signal) =>
        isStart ? this.#share(setup, intake.topic, told) : this.#stop(setup, intake.topic, signal),
      );
    }
  }

  /** Resolves as at boot: once this process has its share of the free partitions. */
  async #share({ sharing }: IntakesSetup, topic: string, told: Promise<void>): Promise<void> {
    await told;
    await sharing.consumerOf(topic)?.shared();
  }

  async #stop({ context, sharing, timeout }: IntakesSetup, topic: string, signal: AbortSignal): Promise<void> {
    const consumer = sharing.consumerOf(topic);
    if (consumer)
      await finishHandlers([consumer], { context, timeout, handedOver: consumer.moved(), call: 'stop()', signal });
  }

  /** Handles a request after the shutdown has begun: a stop waits until nothing runs any more, and a start fails. */
  async #afterShutdown(action: IntakeAction, [first]: readonly TopicIntake[]): Promise<void> {
    if (action === 'start' && first) throw new IntakeOvertakenError(first.topic, action, 'shutdown');
    await this.#handlersEnd;
  }

  #assertHandled(action: IntakeAction, topic: string): void {
    const known = this.#setup?.topics ?? [];
    if (known.includes(topic)) return;
    throw new InvalidArgumentError(
      `The intake of topic '${topic}' cannot be ${action === 'start' ? 'started' : 'stopped'}: it has no handler in this ` +
        `process on this connection.${didYouMean(topic, known)} ` +
        (known.length === 0 ? 'No topic has one.' : `Topics that have one: ${enumerate(known)}.`),
    );
  }
}

async function latestOf(intakes: readonly TopicIntake[]): Promise<void> {
  await Promise.all(intakes.map(({ latest }) => latest));
}

/** Returns a text such as `topic 'a'` or `2 topics: a, b`. */
export function named(topics: readonly string[]): string {
  const [first] = topics;
  return topics.length === 1 ? `topic '${first}'` : `${counted(topics.length, 'topic')}: ${enumerate(topics)}`;
}

/** Intake of one topic in this process, as requested last. A request that another one overtakes is never fulfilled; its promise rejects. */
class TopicIntake {
  readonly topic: string;
  #isOpen: boolean;
  #latest: Promise<void> = Promise.resolve();
  /** Ends the latest request if it is not fulfilled. */
  #overtake: (by: IntakeAction | 'shutdown') => void = () => {};

  constructor(topic: string, isOpen: boolean) {
    this.topic = topic;
    this.#isOpen = isOpen;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Resolves once the latest request is fulfilled; rejects with an {@link IntakeOvertakenError} if it was overtaken. */
  get latest(): Promise<void> {
    return this.#latest;
  }

  /** Whether this was the latest request. */
  is(action: IntakeAction): boolean {
    return this.#isOpen === (action === 'start');
  }

  /**
   * Takes a request that differs from the last one.
   *
   * @param fulfil fulfils it and never rejects; the signal aborts if it is overtaken
   */
  want(action: IntakeAction, fulfil: (signal: AbortSignal) => Promise<void>): void {
    this.#overtake(action);
    this.#isOpen = action === 'start';
    const overtaken = new AbortController();
    this.#latest = new Promise((resolve, reject) => {
      this.#overtake = (by) => {
        overtaken.abort();
        reject(new IntakeOvertakenError(this.topic, action, by));
      };
      void fulfil(overtaken.signal).then(resolve);
    });
    // Possibly nobody waits for it.
    this.#latest.catch(() => {});
  }

  /** Closes the intake for the shutdown: nothing starts any more, and a stop under way goes on. */
  close(): void {
    if (this.#isOpen) this.#overtake('shutdown');
    this.#isOpen = false;
  }
}
