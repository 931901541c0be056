import type { Process } from '../fleet/process.js';
import type { MessageRules } from './message-rules.js';
import type { RuleOptions, Run } from './run.js';
import type { Claim, ServerListener } from './server-calls.js';

/** Until what a process has taken is handled, if it waits for others, in milliseconds. */
const PATIENCE = 20_000;

interface Taken {
  readonly process: Process;
  /** As whom it owned the partition, and where Redis says who does. */
  readonly claimant: string;
  readonly owner: string;
  /** World time. */
  readonly at: number;
  hasBegun: boolean;
}

export interface OnceRuleOptions extends RuleOptions {
  readonly messages: MessageRules;
}

/** What is delivered at most once is handed out once, and then handled once, unless its process ends. */
export class OnceRules implements ServerListener {
  readonly #options: OnceRuleOptions;
  readonly #taken = new Map<string, Taken>();
  #lostAt = -Infinity;

  constructor(options: OnceRuleOptions) {
    this.#options = options;
  }

  claimed({ id, isGone, process, call: { given, place } }: Claim): void {
    const { world, messages } = this.#options;
    if (!isGone) return;
    const { claimant } = given as { readonly claimant: string };
    const { owner } = place as { readonly owner: string };
    const before = this.#taken.get(id);
    // Its id is free once it is gone, so whoever is not sure publishes another one.
    const { calledUntil = 0 } = messages.find(id) ?? {};
    if (before && calledUntil < before.at) this.#violated(`${id} is handed out again`, id, process);
    messages.ended(id);
    const taken = { process, claimant, owner, at: world.now, hasBegun: false };
    this.#taken.set(id, taken);
    world.after(PATIENCE, () => this.#assertBegun(id, taken));
  }

  begin({ id, process }: Run): void {
    const taken = this.#taken.get(id);
    if (!taken) return;
    if (taken.hasBegun) this.#violated(`${id} begins again`, id, process);
    taken.hasBegun = true;
  }

  /** What was handed out may be handed out again. */
  redisLost(since: number): void {
    this.#lostAt = this.#options.world.now;
    for (const [id, { at }] of this.#taken) if (at >= since) this.#taken.delete(id);
  }

  #assertBegun(id: string, taken: Taken): void {
    const { process, claimant, owner, at, hasBegun } = taken;
    // Whoever does not get the answer of its claim until it owns the partition no more is not told what it was.
    if (this.#options.server.data.call('GET', owner) !== claimant) return;
    const isUndisturbed = !process.isDead && process.connection && process.disturbedAt < at && this.#lostAt < at;
    const isExcused = !isUndisturbed || this.#options.messages.isDamaged(id);
    if (hasBegun || isExcused || this.#taken.get(id) !== taken) return;
    this.#violated(`${process.name} has taken ${id}, and does not handle it`, id, process);
  }

  #violated(text: string, id: string, process: { readonly name: string }): void {
    this.#options.violated('once', text, [id, process.name]);
  }
}
