import { ConfigurationError } from '../errors/options.errors.js';
import { type TopicRef, checkedTopicName } from '../messages/topic.js';
import { shareClass } from '../package-copies.js';
import type { Intakes } from './intakes.js';
import type { IntakeAction } from './topic-intake.js';

export interface ConsumersDependencies {
  /** `undefined`: this process does not consume on this connection. */
  readonly intakes: () => Intakes | undefined;
  /** To be called around each drain. */
  readonly whileDraining: (drain: Promise<void>) => Promise<void>;
}

/**
 * Starts and stops this process's own intake, topic by topic, while it runs; the other processes of the fleet go on, and take
 * over what this one stops. To halt a topic everywhere, use `DelayQueueAdmin.pause()`. Inject it anywhere.
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

  /** The topics that this process takes work of, in the order of their handlers; empty until the handlers are known at boot. */
  get running(): readonly string[] {
    return this.#dependencies.intakes()?.running ?? [];
  }

  /**
   * Starts the intake of a topic; without one, of every topic that has a handler here. Resolves once this process has its
   * share of the partitions that are free; others come as soon as their owners have let them go. What runs already stays as it
   * is. Before the application has bootstrapped the call is noted and resolves at once.
   *
   * @throws InvalidArgumentError if the topic has no handler in this process
   * @throws ConfigurationError if this process only publishes
   * @throws IntakeOvertakenError if a later `stop()` or the shutdown comes first
   */
  start(topic?: TopicRef): Promise<void> {
    return this.#change('start', topic);
  }

  /**
   * Stops the intake of a topic; without one, of every topic. Nothing more is claimed, and the partitions go to other processes at
   * once. Handlers that run go on for `shutdownTimeout` at most; then their signals abort, and their messages go back. Resolves
   * once none runs here any more and the outcomes are confirmed; while Redis is away it waits for that for 2 s. So a handler of
   * the topic must not await it. Before the application has bootstrapped the call is noted and resolves at once.
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
    // It can only be overtaken; whoever does not wait for it need not hear of that.
    change.catch(() => {});
    return change;
  }

  #begin(action: IntakeAction, topic: string | undefined): Promise<void> {
    const { intakes, whileDraining } = this.#dependencies;
    const change = intakes()?.change(action, topic);
    if (change) return action === 'stop' ? whileDraining(change) : change;
    if (action === 'stop' && topic === undefined) return Promise.resolve();
    throw new ConfigurationError(
      `There is no intake to ${action}: this process only publishes on this connection. Leave 'consumer: false' out to consume, ` +
        `with 'consumer: { autoStart: false }' from the first start() on.`,
    );
  }
}
