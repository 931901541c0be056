import { randomUUID } from 'node:crypto';
import type { SettleStatus } from '../../messages/settle-status.js';
import { type SettleAnswer, type Settlement, addsMemory } from '../../store/deliveries/settle.js';
import type { Owner } from '../../store/fleet/owner.js';
import { type CallId, MAX_BATCH, type Partition } from '../../store/partition.js';
import { namedCall } from '../../store/calls/named-call.js';
import { isFull } from '../../store/redis-error-codes.js';
import { settleAll } from '../../store/calls/settle-all.js';
import { isRefused, splitIfRefused } from '../../store/calls/split-refused.js';
import { describe } from '../../checks/describe.js';
import { SerializationError } from '../../errors/publishing.errors.js';
import { errorLine, quoted } from '../../log.js';
import { type Failure, toFailure } from '../../messages/failure.js';
import { mayBeNoText } from '../../messages/stored-id.js';
import { settleWithin } from '../../middleware/middleware-layers.js';
import { Loop } from '../../time/loop.js';
import { repeatUntilServed } from '../../store/calls/serve.js';
import type { ConsumerContext } from '../consumer-context.js';
import { type DecidedDelivery, toDeliveryOutcome } from './decided-delivery.js';
import type { Delivery } from './delivery.js';
import { SucceededDeliveries, canGoAlong, splitByClaim } from './succeeded-deliveries.js';
import { type Verdict, dead } from './verdict.js';
import { WaitingOutcomes, splitByRoom } from './waiting-outcomes.js';

/** Longest time that deliveries that have succeeded wait for a claim to take them along, in milliseconds. */
const LONGEST_WAIT = 20;

/** Effect of a settle that was not too late. */
export type Effect = Exclude<SettleStatus, 'stale'>;

/** Listener for the results of a {@link Settler}. */
export interface SettleListener {
  /** Identity under which this process owns the partition; `undefined`: another process is to learn what becomes due. */
  readonly owner?: Owner | undefined;
  /** Whether finished messages record the process that handled them, and for how long. */
  readonly isFinishedKept?: boolean;
  /** Milliseconds until a claim can take along deliveries that have succeeded. @defaultValue none is planned */
  readonly claimsIn?: number;
  /** Called when an outcome is confirmed; for a message set aside because its outcome was refused, when it is a dead letter. */
  settled(delivery: Delivery, verdict: Verdict, effect: Effect): void;
  /** Called when an outcome came too late and had no effect. */
  stale(delivery: Delivery): void;
  /** Called when nothing more is done about a delivery, whatever its outcome. */
  done(delivery: Delivery): void;
  /** Called when outcomes begin to wait for room, and when all of them are stored. */
  waits(isWaiting: boolean): void;
  /** Called when no outcome whose lease has ended is unanswered any more. */
  caughtUp(): void;
}

/**
 * Sends the outcomes of one partition's deliveries, one call at a time: those that come up meanwhile travel together in the next call.
 * While the broker is unreachable they are kept, at most as many as can be handled at once. Those that a claim can take along are left to
 * it, and wait for it a moment if it comes soon.
 *
 * If the broker is full, outcomes that make room go on, and the others wait for as long as it takes: their leases have to be renewed, and
 * nothing more should be claimed once they are a crowd. Nor should anything be claimed before outcomes whose lease has ended are answered,
 * such as after a stall of the process: a claim that came first would deliver their messages again.
 */
export class Settler {
  readonly #context: ConsumerContext;
  readonly #partition: Partition;
  readonly #listener: SettleListener;
  readonly #abandoned = new AbortController();
  readonly #sending: Loop;
  readonly #waiting = new WaitingOutcomes();
  #pending: DecidedDelivery[] = [];
  #sent: readonly DecidedDelivery[] = [];
  /** Deliveries that a claim has taken along, until it is answered. */
  #along: SucceededDeliveries | undefined;
  /** Time until which what is pending waits for a claim, in epoch milliseconds on the local clock; `undefined` if it does not wait. */
  #leftUntil: number | undefined;
  /** Number of callers that wait for the end of all outcomes. */
  #hurried = 0;
  #isWaiting = false;
  /** Earliest lease end among the unanswered outcomes, in epoch milliseconds on the local clock; those that wait for room do not count. */
  #lateFrom = Infinity;
  /**
   * Caller name of its own, so that its calls are not taken for repeats of those that this process made when it owned the partition before.
   */
  readonly #caller = randomUUID();
  #sequence = 0;
  #hasMiddlewareFailed = false;

  constructor(context: ConsumerContext, partition: Partition, listener: SettleListener) {
    this.#context = context;
    this.#partition = partition;
    this.#listener = listener;
    this.#sending = new Loop({ clock: context.clock, run: () => this.#sendIfAny(), gather: true });
  }

  /** Number of outcomes that are not confirmed yet. */
  get unsettled(): number {
    return this.#pending.length + this.#sent.length + (this.#along?.deliveries.length ?? 0) + this.#waiting.size;
  }

  /** Deliveries whose outcomes wait until the broker has room. */
  get waiting(): readonly Delivery[] {
    return this.#waiting.deliveries;
  }

  /** Whether outcomes have to be answered before more is claimed: too many wait for room, or the leases of some have ended. */
  get comesFirst(): boolean {
    return this.#waiting.isCrowd || this.#isLate;
  }

  get #isLate(): boolean {
    return this.#context.clock.now() >= this.#lateFrom;
  }

  /** @param operation name of the settle, under which it can be repeated */
  settle(delivery: Delivery, verdict: Verdict, operation?: string): void {
    // A new list in place of an empty one: what an old list outgrows holds what was in it until a full collection.
    if (this.#pending.length === 0) this.#pending = [];
    this.#pending.push({ delivery, verdict, operation });
    this.#lateFrom = Math.min(this.#lateFrom, delivery.leaseEndsAt);
    this.#sending.poke();
  }

  /** Whether there is something for a claim to take along. */
  get hasSucceeded(): boolean {
    return this.#mayGoAlong && !this.#along && this.#pending.some(canGoAlong);
  }

  /** Finished messages are copied in parts, and middleware wraps a call of its own. */
  get #mayGoAlong(): boolean {
    return !this.#listener.isFinishedKept && !this.#context.settleLayers && this.#waiting.size === 0;
  }

  /** Leaves the deliveries that have succeeded to a claim; `undefined` if there are none. */
  takeSucceeded(): SucceededDeliveries | undefined {
    if (!this.hasSucceeded) return undefined;
    const { along, others } = splitByClaim(this.#pending);
    this.#pending = others;
    this.#leftUntil = undefined;
    this.#along = new SucceededDeliveries(along, {
      answered: (deliveries, statuses) => {
        const wasLate = this.#isLate;
        this.#along = undefined;
        this.#noteLateness(wasLate);
        deliveries.forEach((decided, i) => {
          this.#answered(decided, statuses[i] as SettleStatus);
          this.#listener.done(decided.delivery);
        });
        if (this.#pending.length > 0) this.#sending.poke();
      },
      failed: (deliveries) => {
        this.#along = undefined;
        this.#pending.unshift(...deliveries);
        this.#sending.poke();
      },
    });
    return this.#along;
  }

  /** Resolves once every outcome was sent and answered, or given up. */
  async idle(): Promise<void> {
    this.#hurried++;
    await this.#along?.ended;
    if (this.#pending.length > 0) this.#sending.poke();
    await this.#sending.idle();
    this.#hurried--;
  }

  /** Stops trying: messages whose outcome is not confirmed are delivered again when their lease ends. */
  async stop(): Promise<void> {
    this.#abandoned.abort();
    await this.#sending.stop();
  }

  /** Claims usually take along what there is before its turn comes. */
  #sendIfAny(): Promise<number | undefined> | number | undefined {
    if (this.#pending.length + this.#waiting.size === 0) return undefined;
    return this.#waitForClaim() ?? this.#sendAll();
  }

  /** Returns how long what is pending can wait for a claim that comes soon, in milliseconds; `undefined` if it cannot. */
  #waitForClaim(): number | undefined {
    const now = this.#context.clock.now();
    const { claimsIn = Infinity } = this.#listener;
    if (this.#hurried > 0 || claimsIn > LONGEST_WAIT || !this.#mayGoAlong || !this.#pending.every(canGoAlong))
      return undefined;
    this.#leftUntil ??= Math.min(now + LONGEST_WAIT, this.#lateFrom);
    return this.#leftUntil > now ? this.#leftUntil - now : undefined;
  }

  /**
   * Never rejects.
   *
   * @returns time until the next try for outcomes that wait for room, in milliseconds
   */
  async #sendAll(): Promise<number | undefined> {
    const { clock } = this.#context;
    while (!this.#abandoned.signal.aborted) {
      this.#goOn();
      if (this.#sent.length === 0) break;
      const left = await this.#send(this.#sent);
      if (this.#abandoned.signal.aborted) return undefined;
      for (const decided of this.#sent) if (!left.includes(decided)) this.#listener.done(decided.delivery);
      this.#sent = [];
      if (left.length > 0) this.#putOff(left);
      this.#noteWaiting();
    }
    return this.#waiting.pauseFrom(clock.now());
  }

  /** Takes the next batch. Here lateness can end, so that whatever waits for its end learns of it. */
  #goOn(): void {
    const wasLate = this.#isLate;
    this.#sent = this.#nextBatch();
    this.#noteLateness(wasLate);
  }

  #noteLateness(wasLate: boolean): void {
    this.#lateFrom = Math.min(...[this.#sent, this.#pending, this.#along?.deliveries ?? []].map(firstEndOf));
    if (wasLate && !this.#isLate) this.#listener.caughtUp();
  }

  /** While something waits for room, only outcomes that make room are sent at once. */
  #nextBatch(): DecidedDelivery[] {
    this.#leftUntil = undefined;
    while (this.#pending.length > 0) {
      const batch = this.#pending.splice(0, batchLength(this.#pending));
      if (this.#waiting.size === 0) return batch;
      const { adding, others } = splitByRoom(batch);
      this.#waiting.add(adding);
      if (others.length > 0) return others;
    }
    return this.#waiting.take(this.#context.clock.now());
  }

  /** Puts refused outcomes off. Those that make room were refused only because of the others in the call. */
  #putOff(left: readonly DecidedDelivery[]): void {
    const { adding, others } = splitByRoom(left);
    this.#waiting.putBack(adding, this.#context.clock.now());
    this.#pending.unshift(...others);
  }

  #noteWaiting(): void {
    const isWaiting = this.#waiting.size > 0;
    if (!isWaiting) this.#waiting.disperse();
    if (isWaiting !== this.#isWaiting) this.#listener.waits(isWaiting);
    this.#isWaiting = isWaiting;
  }

  /** @returns outcomes for which there is no room. Never rejects. */
  async #send(batch: readonly DecidedDelivery[]): Promise<readonly DecidedDelivery[]> {
    try {
      return await this.#settle(batch);
    } catch (error) {
      if (this.#abandoned.signal.aborted) return batch;
      if (!this.#isWaiting) this.#tellError('settle', error);
      if (isFull(error)) return batch;
      this.#context.log.error(`Settling in topic '${this.#partition.topic}' failed: ${(error as Error).message}`);
      return [];
    }
  }

  /** @returns outcomes for which there is no room, though there was for others */
  async #settle(batch: readonly DecidedDelivery[]): Promise<readonly DecidedDelivery[]> {
    const { settleLayers } = this.#context;
    const failed = new Map<DecidedDelivery, unknown>();
    const settle = async (): Promise<readonly SettleStatus[]> => {
      const onFailed = (decided: DecidedDelivery, error: unknown): SettleAnswer => {
        if (!(isRefused(error) || isFull(error)) || this.#abandoned.signal.aborted) throw error;
        failed.set(decided, error);
        return 'stale';
      };
      const statuses = await settleAll(batch, (all) => splitIfRefused(all, (some) => this.#call(some), onFailed));
      const errors = [...failed.values()];
      if (errors.length === batch.length && errors.every(isFull)) throw errors[0];
      return statuses;
    };
    const statuses = settleLayers
      ? await settleWithin(settleLayers, batch.map(toDeliveryOutcome), settle, (error) => this.#reportFault(error))
      : await settle();
    const left: DecidedDelivery[] = [];
    for (let i = 0; i < batch.length; i++) {
      const decided = batch[i] as DecidedDelivery;
      const status = statuses[i] as SettleStatus;
      const error = failed.get(decided);
      if (isFull(error)) left.push(decided);
      else if (error !== undefined) await this.#setAside(decided, error);
      else if (status !== 'stale' || !(await this.#isNoText(decided))) this.#answered(decided, status);
    }
    return left;
  }

  #answered({ delivery, verdict }: DecidedDelivery, status: SettleStatus): void {
    if (status === 'stale') this.#listener.stale(delivery);
    else this.#listener.settled(delivery, verdict, status);
  }

  async #call(batch: readonly DecidedDelivery[]): Promise<SettleAnswer[]> {
    const { broker, session } = this.#context;
    const process = this.#listener.isFinishedKept ? session : undefined;
    const call = this.#nameFor(batch);
    const settlements = batch.map(({ delivery, verdict: { outcome } }): Settlement => {
      const { storedId, token } = delivery;
      return process === undefined
        ? { storedId, token, outcome }
        : { storedId, token, outcome, duration: delivery.duration };
    });
    const canWait = settlements.some(addsMemory);
    return this.#served(
      () => broker.deliveries.settle(this.#partition, call, settlements, process, this.#listener.owner),
      canWait,
    );
  }

  #nameFor(batch: readonly DecidedDelivery[]): CallId {
    const [{ operation, delivery }] = batch as [DecidedDelivery];
    if (batch.length > 1 || operation === undefined) return { caller: this.#caller, sequence: ++this.#sequence };
    return namedCall(operation, delivery.token);
  }

  /** @param canWait whether to give up if the broker is full, since outcomes without room are sent again later */
  #served<T>(call: () => Promise<T>, canWait = false): Promise<T> {
    const { clock, log } = this.#context;
    return repeatUntilServed(call, {
      clock,
      signal: this.#abandoned.signal,
      // Handled messages must not be handled again because Redis refuses writes for a while.
      worthRepeating: (error) => !error.refused && !(canWait && error.full),
      onFailure: (error, failures) => {
        if (failures === 1) log.warn(`Settles in topic '${this.#partition.topic}' wait: ${error.message}`);
        this.#tellError('settle', error);
      },
    });
  }

  /** Sets aside a message that cannot be settled: left in the partition, it would be delivered again and again. */
  async #setAside({ delivery }: DecidedDelivery, error: unknown): Promise<void> {
    const text = `What became of it cannot be stored: ${(error as Error).message}`;
    const failure = toFailure('undecodable', new SerializationError(text, { cause: error }));
    this.#tellError('settle', error);
    if (await this.#makeDead(delivery, failure)) return;
    const { topic, index } = this.#partition;
    this.#context.log.error(
      `The outcome of message ${quoted(delivery.id)} (topic '${topic}', partition ${index}) was refused, and it could ` +
        `not be set aside either; it is delivered again when its lease ends: ${errorLine(error)}`,
    );
  }

  /**
   * Handles a message whose id is not valid UTF-8: the id arrives with U+FFFD in place of its bytes, so no settle finds it. Because of
   * `DeliveryCheck`, the handler was not called.
   *
   * @returns whether it was such a message, which is a dead letter now
   */
  async #isNoText({ delivery, verdict: { outcome } }: DecidedDelivery): Promise<boolean> {
    if (outcome.kind !== 'dead' || !mayBeNoText(delivery.storedId)) return false;
    return this.#makeDead(delivery, outcome.failure);
  }

  /** Never rejects. */
  async #makeDead(delivery: Delivery, failure: Failure): Promise<boolean> {
    const { broker } = this.#context;
    try {
      const storedId = await this.#served(() => broker.deliveries.setAside(this.#partition, delivery, failure));
      if (storedId === undefined) return false;
      this.#listener.settled(delivery.renamed(storedId), dead(failure), 'settled');
      return true;
    } catch (error) {
      this.#tellError('settle', error);
      return false;
    }
  }

  /** Logs a fault once: middleware that fails at every settle would fill the log. */
  #reportFault(error: unknown): void {
    this.#tellError('hook', error);
    if (this.#hasMiddlewareFailed) return;
    this.#hasMiddlewareFailed = true;
    const { topic, index } = this.#partition;
    this.#context.log.error(
      `The settle middleware fails in partition ${index} of topic '${topic}', which changes no outcome: ${describe(error)}`,
    );
  }

  #tellError(source: 'settle' | 'hook', error: unknown): void {
    const { topic, index: partition } = this.#partition;
    this.#context.events.emit('errors', { source, topic, partition, error });
  }
}

/** Returns how many outcomes the next call sends: a named one travels alone, since the caller that repeats it does not know the others. */
function batchLength(pending: readonly DecidedDelivery[]): number {
  const most = Math.min(MAX_BATCH, pending.length);
  for (let i = 0; i < most; i++) if (pending[i]?.operation !== undefined) return Math.max(1, i);
  return most;
}

function firstEndOf(decided: readonly DecidedDelivery[]): number {
  return decided.reduce((first, { delivery }) => Math.min(first, delivery.leaseEndsAt), Infinity);
}
