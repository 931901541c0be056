import { LONGEST_WAIT, QUIET, TOPICS } from '../fleet/topics.js';
import type { Payload } from '../work/payload.js';
import type { MessageRules } from './message-rules.js';
import { type RuleOptions, type Run, TIMER_ERROR, isCurrent } from './run.js';
import type { Claim, Publish, ServerListener } from './server-calls.js';

/** What is known of what is published under one id, again and again. */
interface Repeated {
  /** The versions of which it was confirmed that they are stored, and when. World time. */
  confirmed: { readonly index: number; readonly at: number }[];
  /** Those that were surely not stored, and the latest that has begun. */
  readonly ignored: Set<number>;
  begun: number;
  run: Run | undefined;
  /** World time of the latest claim. */
  claimedAt: number;
  /** When it is due, and when the first was published since the latest claim, by the clock of Redis. */
  dueAt: number;
  waitsSince: number | undefined;
  /** Redis may know of an earlier one. */
  isUnsure: boolean;
}

export interface RepeatedRuleOptions extends RuleOptions {
  readonly messages: MessageRules;
}

/** Of what is published again while it waits, the latest version is handled if it replaces, and else the first; by itself, and in time. */
export class RepeatedRules implements ServerListener {
  readonly #options: RepeatedRuleOptions;
  readonly #all = new Map<string, Repeated>();

  constructor(options: RepeatedRuleOptions) {
    this.#options = options;
  }

  /**
   * The publish of a version was confirmed.
   *
   * @param isThere whether one was there that has kept it from being stored
   * @param isSure whether that was not the same version
   */
  confirmed({ id, key, index }: Payload, isThere: boolean, isSure: boolean): void {
    const { world, messages } = this.#options;
    const repeated = this.#of(key);
    if (isThere) messages.ended(id);
    if (isThere && isSure) repeated.ignored.add(index);
    const { topic, mayBeLost } = messages.find(id) ?? {};
    if (!replaces(topic)) return;
    // The answer may come after Redis has forgotten what it was about.
    if (!mayBeLost) repeated.confirmed.push({ index, at: world.now });
    this.#endBefore(key, index);
  }

  published({ topic, id, isStored, dueAt }: Publish): void {
    if (!isStored || dueAt === undefined || !replaces(topic)) return;
    // Redis counts whole milliseconds.
    const now = Math.floor(this.#options.server.now());
    const repeated = this.#of(id);
    repeated.dueAt = dueAt;
    // A clock that was set back has none wait longer.
    repeated.waitsSince = Math.min(now, repeated.waitsSince ?? now);
    const latest = repeated.waitsSince + LONGEST_WAIT;
    if (dueAt > latest + 1) this.#violated(`${id} waits for ${Math.round(dueAt - latest)} ms longer than it may`, id);
    const early = Math.min(now + QUIET, latest) - dueAt;
    if (early > 0 && !repeated.isUnsure) this.#violated(`${id} is due ${Math.ceil(early)} ms too early`, id);
  }

  claimed({ topic, id }: Claim): void {
    if (!replaces(topic)) return;
    const { server, world } = this.#options;
    const repeated = this.#of(id);
    const early = repeated.dueAt - server.now();
    if (early > 0) this.#violated(`${id} is handed out ${Math.ceil(early)} ms too early`, id);
    Object.assign(repeated, { claimedAt: world.now, dueAt: -Infinity, waitsSince: undefined, isUnsure: false });
  }

  begin(run: Run): void {
    const { messages } = this.#options;
    const { topic, key, index } = messages.find(run.id) ?? {};
    if (index === undefined || key === undefined || !TOPICS[topic ?? '']?.onDuplicate) return;
    const repeated = this.#of(key);
    const { begun, claimedAt, confirmed, ignored } = repeated;
    if (ignored.has(index)) this.#violated(`${run.id} begins, although it was not stored`, run.id);
    const isOld = confirmed.some((one) => one.index > index && one.at < claimedAt);
    if (isOld || index < begun) this.#violated(`${run.id} begins, although a later one was there`, run.id);
    if (repeated.run && isCurrent(repeated.run)) this.#assertEnds(repeated.run, run);
    Object.assign(repeated, { run, begun: index, confirmed: confirmed.filter((one) => one.index > index) });
    if (replaces(topic)) this.#endBefore(key, index);
  }

  redisLost(since: number): void {
    for (const repeated of this.#all.values()) {
      repeated.confirmed = repeated.confirmed.filter(({ at }) => at < since);
      repeated.ignored.clear();
      const forgotten = { begun: -1, run: undefined, dueAt: -Infinity, waitsSince: undefined, isUnsure: true };
      Object.assign(repeated, forgotten);
    }
  }

  /** Those before a version have been handled, or replaced. */
  #endBefore(key: string, index: number): void {
    const { messages } = this.#options;
    for (let i = index - 1; i >= 0; i--) {
      const before = messages.find(`${key}-${i}`);
      if (!before || before.hasEnded) return;
      messages.ended(before.id);
    }
  }

  #assertEnds(other: Run, run: Run): void {
    this.#options.world.after(TIMER_ERROR, () => {
      if (isCurrent(other)) this.#violated(`${run.id} begins beside ${other.id}`, run.id);
    });
  }

  #of(id: string): Repeated {
    const known = this.#all.get(id);
    if (known) return known;
    const repeated: Repeated = {
      confirmed: [],
      ignored: new Set(),
      begun: -1,
      run: undefined,
      claimedAt: -Infinity,
      dueAt: -Infinity,
      waitsSince: undefined,
      isUnsure: false,
    };
    this.#all.set(id, repeated);
    return repeated;
  }

  #violated(text: string, id: string): void {
    this.#options.violated('repeated', text, [id]);
  }
}

function replaces(topic: string | undefined): boolean {
  return TOPICS[topic ?? '']?.onDuplicate === 'replace';
}
