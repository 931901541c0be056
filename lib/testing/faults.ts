import { isError } from '../checks/kinds.js';
import type { BrokerCall, BrokerOperation } from '../store/wrap-broker.js';
import { assertInteger, assertOneOf, assertOptions } from '../checks/validate.js';
import { describe } from '../checks/describe.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { Clock } from '../time/clock.js';
import { sleep } from '../time/sleep.js';

/** Time for which calls fail at once, in milliseconds. */
const FAST_FAILURES = 60_000;

/** Share of the outage so far after which a later call fails. */
const SHARE = 0.1;

interface Outage {
  readonly since: number;
  readonly over: AbortController;
}

/**
 * Makes the broker unreachable and brings it back. Refused callers try again, four times a second; so the longer an outage lasts, the later
 * calls fail, and a month of it costs hundreds of repeats, not ten million.
 */
export class Outages {
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #outage: Outage | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(): void {
    this.#outage ??= { since: this.#clock.now(), over: new AbortController() };
  }

  end(): void {
    if (!this.#outage) return;
    this.#outage.over.abort();
    this.#outage = undefined;
    for (const listener of this.#listeners) listener();
  }

  /** @param listener called whenever the broker is reachable again */
  onEnd(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** @throws BrokerUnavailableError during an outage, at once */
  assertNone(): void {
    if (this.#outage) throw refusal();
  }

  /** @throws BrokerUnavailableError during an outage */
  async assertReachable(): Promise<void> {
    if (!this.#outage) return;
    const { since, over } = this.#outage;
    const lasted = this.#clock.now() - since;
    if (lasted > FAST_FAILURES) await sleep(this.#clock, lasted * SHARE, over.signal);
    throw refusal();
  }
}

function refusal(): BrokerUnavailableError {
  return new BrokerUnavailableError('The test has disconnected the broker (disconnect)');
}

/**
 * Options of `failNext()`.
 *
 * @publicApi
 */
export interface FaultOptions {
  /** Number of calls that fail, 1 or more. @defaultValue 1 */
  times?: number;
  /** Error that they reject with. @defaultValue a `BrokerUnavailableError` that may pass */
  error?: Error;
  /** Whether they take effect and only their replies are lost. @defaultValue false */
  lostReply?: boolean;
}

interface Fault {
  readonly error: Error;
  readonly lostReply: boolean;
  remaining: number;
}

/** Failures that a test has planned, in order. */
export class Faults {
  readonly #operations: readonly BrokerOperation[];
  readonly #planned = new Map<BrokerOperation, Fault[]>();

  /** @param operations all that exist */
  constructor(operations: readonly BrokerOperation[]) {
    this.#operations = operations;
  }

  /** @throws InvalidArgumentError */
  plan(operation: BrokerOperation, options: FaultOptions = {}): void {
    assertOneOf('operation', operation, this.#operations);
    assertOptions('The options of failNext', options, ['times', 'error', 'lostReply']);
    const { times = 1, lostReply = false, error = lostReply ? lostReplyOf(operation) : failureOf(operation) } = options;
    assertInteger('times', times, { min: 1, max: Number.MAX_SAFE_INTEGER });
    if (!isError(error)) throw new InvalidArgumentError(`error must be an Error. Given: ${describe(error)}.`);
    const planned = this.#planned.get(operation) ?? [];
    this.#planned.set(operation, [...planned, { error, lostReply, remaining: times }]);
  }

  /** Makes a call, or fails it as planned. */
  async around(call: BrokerCall): Promise<unknown> {
    const fault = this.#next(call.operation);
    if (!fault) return call.run();
    if (fault.lostReply) await call.run();
    throw fault.error;
  }

  #next(operation: BrokerOperation): Fault | undefined {
    const planned = this.#planned.get(operation);
    const fault = planned?.[0];
    if (fault && --fault.remaining === 0) planned.shift();
    return fault;
  }
}

function failureOf(operation: string): BrokerUnavailableError {
  return new BrokerUnavailableError(`The test lets this call of '${operation}' fail (failNext)`);
}

function lostReplyOf(operation: string): BrokerUnavailableError {
  return new BrokerUnavailableError(`The test loses the reply to this call of '${operation}' (failNext)`);
}
