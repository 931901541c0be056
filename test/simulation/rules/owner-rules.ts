import type { Process } from '../fleet/process.js';
import type { RuleOptions } from './run.js';

/** A process that Redis has heard of so lately, in milliseconds, is alive for all others. */
const JUST_HEARD = 1500;

/** Who has owned a partition for so long is known to all as its owner, in milliseconds. */
const SETTLED = 5000;

export interface WatchedCall {
  readonly name: string;
  readonly place: object;
  readonly given: object;
}

/** Only the owner of a partition claims, and none that lives is replaced. */
export class OwnerRules {
  readonly #options: RuleOptions;
  readonly #processes = new Map<string, Process>();
  readonly #ownedSince = new Map<string, number>();
  readonly #beats = new Map<Process, { text: string; at: number; before: number }>();

  constructor(options: RuleOptions) {
    this.#options = options;
  }

  watch(process: Process, { name, place, given }: WatchedCall, run: () => unknown): unknown {
    if (name === 'hset') this.#beat(process, (given as readonly string[]).join(' '));
    if (name !== 'acquire' && name !== 'claim') return run();
    const { owner: key } = place as { readonly owner: string };
    const before = this.#options.server.data.call('GET', key) as string | null;
    const reply = run() as readonly unknown[];
    if (reply[0] !== 1) return reply;
    if (name === 'claim') this.#claimed((given as { claimant: string }).claimant, before ?? '', key);
    else this.#acquired((given as { new_owner: string }).new_owner, before ?? '', process, key);
    return reply;
  }

  #claimed(claimant: string, owner: string, key: string): void {
    if (claimant !== owner) this.#options.violated('owner', `${claimant} claims from ${key} of ${owner}`, [key]);
  }

  #acquired(next: string, before: string, process: Process, key: string): void {
    const { world, violated } = this.#options;
    const holder = this.#processes.get(before);
    const since = this.#ownedSince.get(before) ?? Infinity;
    this.#processes.set(next, process);
    this.#ownedSince.set(next, world.now);
    if (!holder || holder === process || !this.#isAlive(holder) || world.now - since < SETTLED) return;
    // One that was away goes by what it has seen before, until its next heartbeat is answered.
    if (world.now - (this.#beats.get(process)?.before ?? -Infinity) > 2 * JUST_HEARD) return;
    violated('owner', `${process.name} takes ${key} from ${holder.name}, which lives`, [
      key,
      process.name,
      holder.name,
    ]);
  }

  #isAlive(process: Process): boolean {
    if (process.isDead || process.isFrozen || !process.connection) return false;
    return this.#options.world.now - (this.#beats.get(process)?.at ?? -Infinity) < JUST_HEARD;
  }

  /** One that is sent once more says nothing new. */
  #beat(process: Process, text: string): void {
    const known = this.#beats.get(process);
    if (known?.text === text) return;
    this.#beats.set(process, { text, at: this.#options.world.now, before: known?.at ?? -Infinity });
  }
}
