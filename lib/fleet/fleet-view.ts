import type { SessionRecord } from '../store/fleet/sessions.js';
import { PROTOCOL_BEFORE, PROTOCOL_VERSION } from '../store/fleet/topic-config.js';

/** Session lengths after which a session that is over is forgotten: by then every process has seen its end. */
const FORGOTTEN_AFTER = 3;

/** Longest length of a session, whatever is stored, unless this process's own is longer; in milliseconds. */
const LONGEST_SESSION = 60_000;

/**
 * Share of the time between two heartbeats. One stood still if its answer took longer, or if it was late by more than that: whatever kept
 * this process from its answer may have kept the others from renewing their sessions.
 */
const STANDSTILL = 0.5;

/** Observations of another process. Times are epoch milliseconds on the local clock, which never goes backwards. */
interface Sighting {
  /** The latest record; `undefined` of a session that only the owner of a partition names. */
  record: SessionRecord | undefined;
  /** Time of the first heartbeat that saw the record as it is, moved forward by all time that did not count. */
  since: number;
  /** Whether the latest heartbeat has seen it. */
  isStored: boolean;
}

/** Timing of a session, in milliseconds. */
export interface SessionTimes {
  /** Longest time between two heartbeats. */
  readonly heartbeat: number;
  /** Time that a session lasts without one. */
  readonly length: number;
}

/** A process that takes part in the fleet. */
export interface LiveSession {
  readonly id: string;
  /** Name of the list of topics that it handles. */
  readonly digest: string;
  /** Version of the protocol that it speaks. */
  readonly protocol: number;
}

/**
 * Whether all live processes speak the protocol of this one: some do not (`apart`), all do (`alike`), or all have done so for a whole session
 * (`settled`), in which one that has just booted would have shown.
 */
export type Agreement = 'unknown' | 'apart' | 'alike' | 'settled';

/**
 * Knows which processes live, as far as this one can tell. A session has ended if it was not renewed while this process's own heartbeats
 * were answered for one whole session. No clock but the local one takes part; so no step of a clock, no flush and no outage
 * makes a living session look ended. The first process that finds a session ended marks it as left, so that all go by the same
 * fleet, including those that have joined since.
 */
export class FleetView {
  #own: LiveSession & { readonly length: number };
  /** Longest time between two heartbeats, in milliseconds. */
  readonly #heartbeat: number;
  readonly #sightings = new Map<string, Sighting>();
  /** Time as of which the latest answered heartbeat has looked. */
  #lookedAt = -Infinity;
  #live: readonly LiveSession[];
  /** Time of the latest look that has shown a process with an earlier protocol, or else of the first look. */
  #apartAt: number | undefined;

  constructor(own: Omit<LiveSession, 'protocol'>, { heartbeat, length }: SessionTimes) {
    this.#own = { ...own, protocol: PROTOCOL_VERSION, length };
    this.#heartbeat = heartbeat;
    this.#live = [this.#own];
  }

  /** Live processes, this one included, sorted by name; a new array whenever they change. */
  get live(): readonly LiveSession[] {
    return this.#live;
  }

  /** Whether all live processes speak the protocol of this one. */
  get agreement(): Agreement {
    if (this.#apartAt === undefined) return 'unknown';
    if (this.#isApart) return 'apart';
    return this.#lookedAt - this.#apartAt < this.#own.length ? 'alike' : 'settled';
  }

  get #isApart(): boolean {
    return this.#live.some(({ protocol }) => protocol < PROTOCOL_VERSION);
  }

  /** @param digest names the list of topics that this process handles from now on */
  handle(digest: string): void {
    this.#own = { ...this.#own, digest };
    this.#judge();
  }

  /**
   * Takes in the answer to a heartbeat.
   *
   * @param sentAt when the heartbeat was sent
   * @param answeredAt when its answer came
   */
  observe(records: readonly SessionRecord[], sentAt: number, answeredAt: number): void {
    const silence = sentAt - this.#lookedAt;
    const stoodStill =
      answeredAt - sentAt > STANDSTILL * this.#heartbeat || silence > (1 + STANDSTILL) * this.#heartbeat;
    // Nothing of such a time counts, and what the others had waiting may be run only after this heartbeat.
    const now = stoodStill ? answeredAt : sentAt;
    const unwatched = stoodStill ? now - this.#lookedAt : Math.max(0, silence - this.#heartbeat);
    for (const sighting of this.#sightings.values()) {
      sighting.isStored = false;
      sighting.since += unwatched;
    }
    this.#lookedAt = now;
    for (const record of records) {
      if (record.session === this.#own.id) continue;
      this.#sightings.set(record.session, sightingOf(record, this.#sightings.get(record.session), now));
    }
    this.#judge();
    if (this.#isApart) this.#apartAt = now;
    this.#apartAt ??= now;
  }

  /**
   * Whether the session of a partition's owner has ended or was left. One that was never heard of is watched from now on, like any
   * other.
   */
  hasEnded(session: string): boolean {
    if (session === this.#own.id) return false;
    const known = this.#sightings.get(session);
    if (known) return known.record?.left === true || this.#isOver(known);
    // Before the first answer no session is watched; a caller that waits for an owner asks again after each heartbeat.
    const since = this.#lookedAt;
    if (since !== -Infinity) this.#sightings.set(session, { record: undefined, since, isStored: false });
    return false;
  }

  /**
   * Notes that a session has taken what was this process's, which is a sign of life: if it seemed to have ended, it is watched from now on
   * like one that was never heard of.
   */
  hasTaken(session: string): void {
    if (!this.hasEnded(session)) return;
    this.#sightings.set(session, { record: undefined, since: this.#lookedAt, isStored: false });
  }

  /**
   * Time at which the first session that is not renewed ends, on the local clock; `Infinity` if all are renewed. Sessions shorter than this
   * process's own count as equally long: their heartbeats must not set the pace of this one's.
   */
  get nextEnd(): number {
    let next = Infinity;
    for (const sighting of this.#sightings.values()) {
      if (!sighting.record?.left && !this.#isOver(sighting))
        next = Math.min(next, sighting.since + Math.max(this.#own.length, this.#lengthOf(sighting)));
    }
    return next;
  }

  /** Sessions that have ended but are not stored as such. */
  get ended(): SessionRecord[] {
    return [...this.#sightings.values()].flatMap((sighting) => {
      const { record, isStored } = sighting;
      return record && isStored && !record.left && this.#isOver(sighting) ? [record] : [];
    });
  }

  /** Sessions whose records are of no use any more. */
  get forgettable(): string[] {
    return [...this.#sightings].flatMap(([session, sighting]) =>
      sighting.isStored && this.#isOver(sighting, FORGOTTEN_AFTER) ? [session] : [],
    );
  }

  #judge(): void {
    const live: LiveSession[] = [this.#own];
    for (const [id, sighting] of this.#sightings) {
      const { record, isStored } = sighting;
      if (record && !record.left && !this.#isOver(sighting)) {
        const { digest, protocol = PROTOCOL_BEFORE } = record;
        live.push({ id, digest, protocol });
      } else if (!isStored && this.#isOver(sighting, FORGOTTEN_AFTER)) this.#sightings.delete(id);
    }
    live.sort((a, b) => (a.id < b.id ? -1 : 1));
    const hasChanged =
      live.length !== this.#live.length ||
      live.some(({ id, digest }, i) => id !== this.#live[i]?.id || digest !== this.#live[i].digest);
    if (hasChanged) this.#live = live;
  }

  #isOver(sighting: Sighting, lengths = 1): boolean {
    return this.#lookedAt - sighting.since >= lengths * this.#lengthOf(sighting);
  }

  #lengthOf({ record }: Sighting): number {
    return Math.min(record?.length ?? this.#own.length, Math.max(this.#own.length, LONGEST_SESSION));
  }
}

/**
 * A heartbeat that comes late has a lower count. It may hide newer ones, so any change is a sign of life; for a session that was left, only
 * a newer heartbeat is.
 */
function sightingOf(record: SessionRecord, known: Sighting | undefined, now: number): Sighting {
  const before = known?.record;
  if (!known || before === undefined) return { record, since: now, isStored: true };
  const left = record.left || (before.left && record.count <= before.count);
  const isRenewed = !left && record.count !== before.count;
  return { record: { ...record, left }, since: isRenewed ? now : known.since, isStored: true };
}
