import { ConfigurationError } from '../errors/options.errors.js';
import { type TopicRef, checkedTopicName } from '../messages/topic.js';
import { shareClass } from '../package-copies.js';
import type { Intakes } from './ownership/intakes.js';
import type { IntakeAction } from './ownership/intakes.js';

export interface ConsumersDependencies {
  /** `undefined` if this process does not consume on this connection. */
  readonly intakes: () => Intakes | undefined;
  /** Wraps each stop. */
  readonly whileStopping: (stopping: Promise<void>) => Promise<void>;
}

/**
 * Starts and stops the handling of topics in this process while it runs. The other processes of the fleet carry on and take over the topics
 * that this one stops. To stop a topic everywhere, use `DelayQueueAdmin.pause()`. Inject it anywhere.
 *
 * @example
 * ```ts
 * await consumers.stop('report.build'); // no handler of it runs here any more
 * await this.compactFiles();
 * await consumers.start('report.build');
 * ```
 *
 * @publicApi
 */
export class DelayQueueConsumers {
  static {
    shareClass('DelayQueueConsumers', this);
  }

  readonly #dependencies: ConsumersDependencies;

  /** @internal */
  constructor(dependencies: ConsumersDependencies) {
    this.#dependencies = dependencies;
  }

  /** Topics whose messages this process takes, in the order of their handlers; empty until the handlers are known at boot. */
  get running(): readonly string[] {
    return this.#dependencies.intakes()?.running ?? [];
  }

  /**
   * Starts handling a topic; without one, every topic that has a handler in this process. Resolves once this process has its share of the
   * partitions that are free; it gets others as soon as their owners release them. Topics that are already handled stay as they are. A call
   * before the application has bootstrapped takes effect at boot and resolves at once.
   *
   * @throws InvalidArgumentError if the topic has no handler in this process
   * @throws ConfigurationError if this process only publishes
   * @throws IntakeOvertakenError if a later `stop()` or the shutdown comes first
   */
  start(topic?: TopicRef): Promise<void> {
    return this.#change('start', topic);
  }

  /**
   * Stops handling a topic; without one, every topic. This process claims nothing more, and the partitions go to other processes at once.
   * Running handlers get up to `shutdownTimeout` to finish; then their signals abort, and their messages are given back. Resolves once none
   * runs in this process any more and the outcomes are confirmed; if Redis is down, it waits 2 s for that. So a handler of the topic must
   * not await it. A call before the application has bootstrapped takes effect at boot and resolves at once.
   *
   * @throws InvalidArgumentError if the topic has no handler in this process
   * @throws IntakeOvertakenError if a later `start()` comes first
   */
  stop(topic?: TopicRef): Promise<void> {
    return this.#change('stop', topic);
  }

  #change(action: IntakeAction, topic: TopicRef | undefined): Promise<void> {
    let change: Promise<void>;
    try {
      change = this.#begin(action, topic === undefined ? undefined : checkedTopicName(topic));
    } catch (error) {
      return Promise.reject(error);
    }
    // It rejects only if it is overtaken; a caller that does not await it need not learn of that.
    change.catch(() => {});
    return change;
  }

  #begin(action: IntakeAction, topic: string | undefined): Promise<void> {
    const { intakes, whileStopping } = this.#dependencies;
    const change = intakes()?.change(action, topic);
    if (change) return action === 'stop' ? whileStopping(change) : change;
    if (action === 'stop' && topic === undefined) return Promise.resolve();
    throw new ConfigurationError(
      `There is no intake to ${action}: this process only publishes on this connection. Leave 'consumer: false' out to consume, ` +
        `with 'consumer: { autoStart: false }' from the first start() on.`,
    );
  }
}
