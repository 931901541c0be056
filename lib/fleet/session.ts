import type { Broker } from '../store/broker.interface.js';
import type { Unsubscribe } from '../store/driver.interface.js';
import type { Owner } from '../store/fleet/owner.js';
import type { Heartbeat, SessionRecord } from '../store/fleet/sessions.js';
import { MAX_RELEASED, type SessionSignal } from '../store/fleet/signals.js';
import { PROTOCOL_VERSION } from '../store/fleet/topic-config.js';
import type { Partition } from '../store/partition.js';
import { BrokerUnavailableError } from '../errors/operation.errors.js';
import type { EventSink } from '../events/queue-events.interface.js';
import type { Log } from '../log.js';
import type { Clock } from '../time/clock.js';
import { Loop } from '../time/loop.js';
import type { Startable } from '../time/startable.interface.js';
import type { FleetMember } from './fleet-member.interface.js';
import { type Agreement, FleetView, type LiveSession } from './fleet-view.js';
import { type OwnTopics, ownTopics } from './own-topics.js';
import { SignalEcho } from './signal-echo.js';

/** Length of a session in heartbeats: one may fail, and observers need one to see that it stands still. */
const HEARTBEATS_PER_SESSION = 2;

/** The time between two heartbeats, as shares of the longest. They differ, so that the processes of a fleet do not beat together. */
const SHORTEST_PERIOD = 0.85;
const LONGEST_PERIOD = 0.95;

/** Time without a heartbeat, in heartbeats, after which others may have seen the session end; a little less than it lasts. */
const LATE_AFTER = 1.5;

/** In place of the digest of a list that cannot be read yet: once it can, the process counts as one that handles other topics. */
const UNKNOWN = '?';

/** Pause before the next try after a failed heartbeat, in milliseconds. */
const RETRY_PAUSE = 250;

/** Number of heartbeats after which a session sends itself a signal, to know that signals come through. */
const HEARTBEATS_PER_ECHO = 3;

/** Most live processes that all look at once when something has changed. */
const FEW = 16;

/** Longest delay of the look if there are more, in milliseconds for each process. */
const SPREAD = 2;

/**
 * Returns how long a session lasts without a heartbeat.
 *
 * @param heartbeat milliseconds, as is the result
 */
export function sessionLength(heartbeat: number): number {
  return heartbeat * HEARTBEATS_PER_SESSION;
}

interface SessionOptions {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventSink;
  /** Name of this process. */
  readonly id: string;
  /** Longest time between two heartbeats, in milliseconds. */
  readonly heartbeat: number;
  /** The topics that this process handles at first. */
  readonly topics: readonly string[];
  readonly member: FleetMember;
}

/**
 * This process's place in the fleet: one heartbeat for all it handles, which also shows who else is there. Its cost does not
 * grow with topics and partitions.
 */
export class Session implements Startable {
  readonly id: string;
  readonly #options: SessionOptions;
  readonly #length: number;
  readonly #view: FleetView;
  readonly #beats: Loop;
  readonly #stop = new AbortController();
  /** The topics that other processes handle, by the digests of their lists. */
  readonly #handled = new Map<string, ReadonlySet<string>>();
  /** Partitions released for other sessions that have not been told yet. */
  readonly #heirs = new Map<string, Partition[]>();
  readonly #tellings: Loop;
  readonly #echo: SignalEcho;
  /** The topics that this process handles. */
  #own: OwnTopics;
  /** Value of {@link live}. */
  #live: readonly LiveSession[];
  #count = 0;
  /** Digest of the list last announced to the others; `undefined` before this process has joined. */
  #announced: string | undefined;
  /** Mark that stays stored as long as no data is lost. That this process is forgotten is no sign: others forget what stands still. */
  #mark: string | undefined;
  #beatingSince: number | undefined;
  /** Time at which the latest answered heartbeat was sent, on the local clock. */
  #sentAt = Infinity;
  #renewedAt: number;
  #failedAt: number | undefined;
  #isFailing = false;
  #unsubscribe: Unsubscribe | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    const { id, clock, heartbeat, topics } = options;
    this.id = id;
    this.#own = ownTopics(topics);
    this.#length = sessionLength(heartbeat);
    this.#view = new FleetView({ id, digest: this.#own.digest }, { heartbeat, length: this.#length });
    this.#live = this.#view.live;
    this.#renewedAt = clock.now();
    this.#beats = new Loop({ clock, run: () => this.#beat() });
    this.#echo = new SignalEcho({ ...options, stop: this.#stop.signal });
    this.#tellings = new Loop({ clock, run: () => this.#tellHeirs(), gather: true });
  }

  /** Time at which the latest answered heartbeat ended, or this was made; epoch milliseconds on the local clock. */
  get renewedAt(): number {
    return this.#renewedAt;
  }

  /** Start of the heartbeat under way, on the same clock. */
  get unansweredSince(): number | undefined {
    return this.#beatingSince;
  }

  /** Time at which the broker last failed to serve a heartbeat, on the same clock. */
  get failedAt(): number | undefined {
    return this.#failedAt;
  }

  /**
   * Live processes, this one included; a new array whenever processes come or go, or handle other topics, or this one
   * learns which topics they handle.
   */
  get live(): readonly LiveSession[] {
    return this.#live;
  }

  /** Whether all live processes speak the protocol of this one. */
  get agreement(): Agreement {
    return this.#view.agreement;
  }

  /**
   * Returns the live processes that handle a topic.
   *
   * @param spoken protocol of the topic: a process that does not speak it cannot handle it. @defaultValue any
   */
  handlersOf(topic: string, spoken = 0): string[] {
    return this.#view.live.flatMap(({ id, digest, protocol }) =>
      protocol >= spoken && this.#handles(digest, topic) ? [id] : [],
    );
  }

  /** Whether this process handles a topic. */
  handles(topic: string): boolean {
    return this.#own.topics.has(topic);
  }

  /** Whether the session of a partition's owner has ended. */
  hasEnded(session: string): boolean {
    return this.#view.hasEnded(session);
  }

  /** Notes that a session has taken a partition of this process: it lives, whatever was known of it before. */
  hasTaken(session: string): void {
    this.#view.hasTaken(session);
  }

  /** Resolves once the first heartbeat was answered, or has failed; then it goes on trying. */
  async start(): Promise<void> {
    if (this.#beats.stopped) return;
    const { broker, member } = this.#options;
    this.#unsubscribe ??= broker.watchSession(
      this.id,
      (signal) => this.#onSignal(signal),
      () => {
        // Earlier signals are lost.
        this.refresh();
        if (this.#announced === undefined) return;
        member.share();
        member.limitsChanged();
      },
    );
    await this.#beats.start();
  }

  /**
   * Makes this process handle these topics from now on, and no others. It goes by that at once, and the others as soon as they
   * know. Resolves once they were told, or that has failed; then it goes on trying.
   */
  async handle(topics: readonly string[]): Promise<void> {
    this.#own = ownTopics(topics);
    // Before the first answer nobody is known to handle anything, this process included.
    if (this.#handled.size > 0) this.#handled.set(this.#own.digest, this.#own.topics);
    this.#view.handle(this.#own.digest);
    this.#live = [...this.#view.live];
    if (this.#beats.started) await this.#beats.request();
  }

  /** Ends the heartbeats. Without {@link leave} the others take this process for gone when its session ends. */
  async stop(): Promise<void> {
    this.#stop.abort();
    const unsubscribe = this.#unsubscribe;
    this.#unsubscribe = undefined;
    await Promise.all([this.#beats.stop(), this.#tellings.stop()]);
    await Promise.all([this.#echo.idle(), unsubscribe?.()]);
  }

  /**
   * Tells the others that this process is gone. Call this once it owns nothing any more.
   *
   * @throws BrokerUnavailableError
   */
  async leave(): Promise<void> {
    if (this.#announced === undefined) return;
    const { broker } = this.#options;
    await broker.fleet.leave(this.#heartbeat(this.#own));
    await broker.fleet.tell({ signal: { kind: 'changed' } });
  }

  /** Sends a heartbeat now; several requests while one is under way are one. */
  refresh(): void {
    if (this.#beats.started) this.#beats.poke();
  }

  /** Tells a session, soon, that a partition was released for it. */
  tellReleased(heir: string, partition: Partition): void {
    if (heir === this.id) return;
    const released = this.#heirs.get(heir);
    if (released) released.push(partition);
    else this.#heirs.set(heir, [partition]);
    this.#tellings.poke();
  }

  /** Asks the session that is stored as the owner of a partition to release it. */
  async askFor(partition: Partition, owner: Owner, holder: string): Promise<void> {
    await this.#options.broker.fleet.tell({ to: holder, signal: { kind: 'wanted', partition, owner } });
  }

  // ── heartbeats ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** @returns milliseconds until the next heartbeat is wanted */
  async #beat(): Promise<number> {
    const { clock, log, events, heartbeat } = this.#options;
    this.#beatingSince = clock.now();
    try {
      await this.#renew();
      this.#isFailing = false;
      const period = heartbeat * (SHORTEST_PERIOD + Math.random() * (LONGEST_PERIOD - SHORTEST_PERIOD));
      // A session that is not renewed: look when it ends, not a heartbeat later.
      return Math.min(period, Math.max(1, this.#view.nextEnd - clock.now() + 1));
    } catch (error) {
      events.emit('errors', { source: 'membership', error });
      if (!(error instanceof BrokerUnavailableError)) log.error('A heartbeat failed', (error as Error).stack);
      else this.#tellUnserved(error);
      this.#isFailing = true;
      return Math.min(heartbeat, RETRY_PAUSE);
    } finally {
      this.#beatingSince = undefined;
    }
  }

  #tellUnserved(error: BrokerUnavailableError): void {
    if (error.transient) this.#failedAt = this.#options.clock.now();
    if (!this.#isFailing) this.#options.log.warn(`Heartbeats fail, so that no partition moves: ${error.message}`);
  }

  async #renew(): Promise<void> {
    const { broker, clock, member, heartbeat } = this.#options;
    const own = this.#own;
    // A process that reads another name than before has to find its list.
    if (this.#announced !== undefined && this.#announced !== own.digest) await this.#rememberTopics(own);
    const sentAt = clock.now();
    // Each heartbeat compares the clocks too.
    void broker.link.ping().catch(() => {});
    const { isNew, mark, sessions } = await broker.fleet.heartbeat(this.#heartbeat(own));
    this.#renewedAt = clock.now();
    const wasLate = this.#renewedAt - this.#sentAt > LATE_AFTER * heartbeat;
    this.#sentAt = sentAt;
    const isLost = this.#mark !== undefined && mark !== undefined && mark !== this.#mark;
    this.#mark = mark ?? this.#mark;
    if (isLost) member.restore();
    else if (wasLate || (isNew && this.#announced !== undefined)) member.verify();
    // Others have taken this process for gone, or nobody remembers it: it announces again what it handles.
    if (isNew) this.#announced = undefined;
    if (this.#announced !== own.digest) await this.#announce(own);
    const before = this.#view.live;
    const isFirst = this.#handled.size === 0;
    await this.#learnTopics(sessions);
    const readable = sessions.map((record) =>
      this.#handled.has(record.digest) ? record : { ...record, digest: UNKNOWN },
    );
    this.#view.observe(readable, sentAt, this.#renewedAt);
    if (isFirst || this.#view.live !== before) this.#live = [...this.#view.live];
    if (this.#stop.signal.aborted) return;
    member.share();
    member.report();
    await this.#buryEnded(sessions);
    if (this.#count % HEARTBEATS_PER_ECHO === 0) this.#listenForSignals();
  }

  /**
   * Marks sessions that have ended as left, for processes that have not seen their end, and forgets old ones.
   *
   * @param sessions as they are stored: a list that cannot be read keeps its name
   */
  async #buryEnded(sessions: readonly SessionRecord[]): Promise<void> {
    const { broker } = this.#options;
    const { forgettable } = this.#view;
    const names = new Set(this.#view.ended.map(({ session }) => session));
    const ended = sessions.filter(({ session }) => names.has(session));
    await Promise.all(ended.map((record) => broker.fleet.leave(record)));
    if (ended.length > 0) await broker.fleet.tell({ signal: { kind: 'changed' } });
    // One process is enough to forget what all have seen.
    if (forgettable.length > 0 && this.#view.live[0]?.id === this.id) await broker.fleet.forget(forgettable);
  }

  #heartbeat({ digest }: OwnTopics): Heartbeat {
    return { session: this.id, count: ++this.#count, length: this.#length, digest, protocol: PROTOCOL_VERSION };
  }

  /** Announces that the session is new in Redis (this process has just booted, or Redis has lost it), or handles other topics now. */
  async #announce(own: OwnTopics): Promise<void> {
    // After a new session, since lists that no session names are forgotten.
    if (this.#announced === undefined) await this.#rememberTopics(own);
    this.#announced = own.digest;
    await this.#options.broker.fleet.tell({ signal: { kind: 'changed' } });
  }

  async #rememberTopics({ digest, topics }: OwnTopics): Promise<void> {
    await this.#options.broker.fleet.rememberTopics({ digest, topics: [...topics] });
  }

  /** Reads the lists of topics that are not known yet, and forgets those that no session names, neither stored nor alive. */
  async #learnTopics(sessions: readonly SessionRecord[]): Promise<void> {
    const { broker } = this.#options;
    const digests = new Set(sessions.map(({ digest }) => digest));
    const alive = new Set(this.#view.live.map(({ digest }) => digest));
    for (const known of this.#handled.keys()) {
      if (!digests.has(known) && !alive.has(known)) this.#handled.delete(known);
    }
    this.#handled.set(this.#own.digest, this.#own.topics);
    const unknown = [...digests].filter((digest) => !this.#handled.has(digest));
    if (unknown.length === 0) return;
    const lists = await broker.fleet.rememberedTopics(unknown);
    for (const [i, digest] of unknown.entries()) {
      const topics = lists[i];
      if (topics) this.#handled.set(digest, new Set(topics));
    }
    const unreadable = sessions.filter(({ digest, left }) => !left && !this.#handled.has(digest));
    await Promise.all(
      unreadable.map(({ session }) => broker.fleet.tell({ to: session, signal: { kind: 'unknown-topics' } })),
    );
  }

  #handles(digest: string, topic: string): boolean {
    return this.#handled.get(digest)?.has(topic) ?? false;
  }

  // ── signals ───────────────────────────────────────────────────────────────────────────────────────────────────────

  #onSignal(signal: SessionSignal): void {
    const { member } = this.#options;
    switch (signal.kind) {
      case 'changed':
        return this.#refreshSoon();
      case 'released':
        return member.released(signal.partitions);
      case 'wanted':
        this.refresh();
        return member.wanted(signal.partition, signal.owner);
      case 'permits':
        return member.permitsMoved(signal.topic);
      case 'lease':
        return member.leaseChanged(signal.partition, signal.token, signal.lease);
      case 'limits':
        return member.limitsChanged(signal.topic);
      case 'unknown-topics':
        // A failure shows again with the next such signal.
        return void this.#rememberTopics(this.#own).catch(() => {});
      case 'echo':
        return this.#echo.heard();
    }
  }

  #listenForSignals(): void {
    const { broker, member } = this.#options;
    // An echo says nothing of signals that come from other servers.
    if (broker.link.losesSignals) member.lookAgain();
    this.#echo.send(this.#count);
  }

  #refreshSoon(): void {
    const { length } = this.#view.live;
    if (length <= FEW) this.refresh();
    else if (this.#beats.started) this.#beats.later(Math.random() * SPREAD * length);
  }

  /** Never rejects: a session that is not told looks with its next heartbeat. */
  async #tellHeirs(): Promise<void> {
    const tellings: Promise<void>[] = [];
    for (const [to, released] of this.#heirs) {
      for (let begin = 0; begin < released.length; begin += MAX_RELEASED) {
        const partitions = released.slice(begin, begin + MAX_RELEASED);
        tellings.push(this.#options.broker.fleet.tell({ to, signal: { kind: 'released', partitions } }));
      }
    }
    this.#heirs.clear();
    await Promise.allSettled(tellings);
  }
}
