import { errorText } from '../log.js';
import { DelayQueueError, defineKind } from './delay-queue.error.js';

/**
 * Redis could not be reached, did not answer in time, or refused to serve; `cause` is the error behind it. `transient` says whether this
 * can pass by itself, `full` whether Redis has reached its `maxmemory`.
 *
 * @publicApi
 */
export class BrokerUnavailableError extends DelayQueueError {
  static {
    defineKind(this, 'BROKER_UNAVAILABLE');
  }

  readonly code = 'BROKER_UNAVAILABLE';
  /** Whether the same call can succeed soon: after a lost connection it can, but a denied command stays denied. */
  readonly transient: boolean;
  /** Whether Redis refuses only this call, because of its arguments or of the stored data; it can still serve others. */
  readonly refused: boolean;
  /** Whether Redis has reached its maxmemory. It accepts calls that add data again once there is room. */
  readonly full: boolean;

  constructor(
    message: string,
    {
      transient = true,
      refused = false,
      full = false,
      ...options
    }: ErrorOptions & { transient?: boolean; refused?: boolean; full?: boolean } = {},
  ) {
    super(message, options);
    this.transient = transient;
    this.refused = refused;
    this.full = full;
  }
}

/**
 * Never thrown, but emitted by `events.errors`: this process publishes to a topic that no process handles. Its messages are kept until one
 * does.
 *
 * @publicApi
 */
export class UnhandledTopicError extends DelayQueueError {
  static {
    defineKind(this, 'UNHANDLED_TOPIC');
  }

  readonly code = 'UNHANDLED_TOPIC';

  constructor(
    readonly topic: string,
    /** Topic that was probably meant: it has nearly the same name, and a process handles it. */
    readonly suggestion: string | undefined,
    /** @param hint sentence with this process's knowledge about the cause */
    hint: string | undefined,
  ) {
    const meant = suggestion === undefined ? 'See' : `Did you mean '${suggestion}'? If not, see`;
    const remedy =
      `${meant} that a method has @DelayedHandler('${topic}'), that its class is a provider or controller of a module that ` +
      `is imported, or that the topic is received, or named by an option 'push' or 'forward'; and that its process runs, on the same ` +
      `Redis with the same prefix, and has not stopped its intake.`;
    super(
      `No process handles topic '${topic}', to which this process publishes: its messages wait until one does. ` +
        (hint ?? remedy),
    );
  }
}

/**
 * A call of `start()` or `stop()` of `DelayQueueConsumers` was replaced before it took effect: by the opposite call, or by the shutdown of
 * the process.
 *
 * @see docs/guides/intake.md
 *
 * @publicApi
 */
export class IntakeOvertakenError extends DelayQueueError {
  static {
    defineKind(this, 'INTAKE_OVERTAKEN');
  }

  readonly code = 'INTAKE_OVERTAKEN';

  constructor(
    readonly topic: string,
    /** Method that was called. */
    readonly action: 'start' | 'stop',
    /** Call or event that replaced it. */
    readonly overtakenBy: 'start' | 'stop' | 'shutdown',
  ) {
    const what = overtakenBy === 'shutdown' ? 'the shutdown of this process' : `a later ${overtakenBy}()`;
    super(`${action}() of the intake of topic '${topic}' was overtaken by ${what}, so it has not come true.`);
  }
}

/**
 * `DelayQueueReceiver` was called before the application had bootstrapped, or while it shuts down. Any other process can settle messages
 * that were received.
 *
 * @see docs/guides/receiving.md
 *
 * @publicApi
 */
export class ReceiverUnavailableError extends DelayQueueError {
  static {
    defineKind(this, 'RECEIVER_UNAVAILABLE');
  }

  readonly code = 'RECEIVER_UNAVAILABLE';
}

/**
 * Never thrown, but emitted by `events.errors`: events of this process did not reach the fleet, because Redis could not be reached or did
 * not accept them. The work itself is not affected.
 *
 * @publicApi
 */
export class EventsDroppedError extends DelayQueueError {
  static {
    defineKind(this, 'EVENTS_DROPPED');
  }

  readonly code = 'EVENTS_DROPPED';

  /** @param dropped number of dropped events */
  constructor(readonly dropped: number) {
    super(`${dropped} events of this process did not reach the fleet. Those who read them see a gap.`);
  }
}

/**
 * Never thrown, but emitted by `events.errors`: an operator's action took effect but is not in the audit log, because Redis could not be
 * reached or did not accept the `entry`.
 *
 * @publicApi
 */
export class AuditFailedError extends DelayQueueError {
  static {
    defineKind(this, 'AUDIT_FAILED');
  }

  readonly code = 'AUDIT_FAILED';

  constructor(
    /** Entry that is missing from the log, as JSON. */
    readonly entry: string,
    cause: unknown,
  ) {
    super(`An action is not in the audit log: ${entry}. ${errorText(cause)}`, { cause });
  }
}

/**
 * Never thrown, but emitted by `events.errors`: nothing in this process listens to SIGTERM, so a deployment ends it in the middle of its
 * handlers.
 *
 * @publicApi
 */
export class NoShutdownHooksError extends DelayQueueError {
  static {
    defineKind(this, 'NO_SHUTDOWN_HOOKS');
  }

  readonly code = 'NO_SHUTDOWN_HOOKS';

  /**
   * @param lease time after which messages come again at the latest, in milliseconds; 0 if all are delivered at most once
   * @param session time after which partitions are taken over at the latest, in milliseconds
   */
  constructor(lease: number, session: number) {
    const again = lease > 0 ? `come again up to ${lease / 1000} s later, counted as crashed, or ` : '';
    super(
      `Nothing in this process listens to SIGTERM, so a SIGTERM, as of a deployment, ends it in the middle of its ` +
        `handlers: their messages ${again}are lost if they are delivered at most once, and its partitions wait up to ` +
        `${session / 1000} s for another process. Call app.enableShutdownHooks() before app.listen().`,
    );
  }
}
